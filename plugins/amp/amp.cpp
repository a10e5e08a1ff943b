// Options into the plan's fields.
#include "amp.hpp"

#include <array>
#include <cstdio>

namespace holdfast::plugins {
namespace {

// Without defaults in the table, so that a scale beside bf16 can be told from one that is not there.
constexpr std::array<const char*, 6> kOfScale = {"init_scale",      "growth_factor", "backoff_factor",
                                                 "growth_interval", "min_scale",     "max_scale"};

std::string text(double number) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", number);
  return buffer;
}

}  // namespace

void Amp::declare(OptionTable& options) {
  constexpr double kLargest = 1e30;  // times any fp32 gradient of a healthy model still a number
  options.string("dtype", "bf16").one_of({"bf16", "fp16"}).doc("what forward and loss compute in where that is safe");
  options.integer("fp32_updates", 0).min(0).doc("the first updates, computed in fp32 and not scaled");
  options.number("init_scale").above(0).max(kLargest).doc("first loss scale; fp16 only. Default: 65536");
  options.number("growth_factor").above(1).max(1024).doc("the scale grows by it; fp16 only. Default: 2");
  options.number("backoff_factor")
      .above(0)
      .below(1)
      .doc("the scale shrinks by it when a window is dropped for a number that is not finite; fp16 only. Default: 0.5");
  options.integer("growth_interval")
      .min(1)
      .doc("applied windows in a row after which the scale grows; fp16 only. Default: 2000");
  options.number("min_scale")
      .above(0)
      .max(kLargest)
      .doc("floor of the scale; 50 dropped windows in a row at the floor end the run (82). fp16 only. Default: 1");
  options.number("max_scale").above(0).max(kLargest).doc("ceiling of the scale; fp16 only. Default: 16777216");
}

Amp::Amp(const Options& options, const Context& context)
    : precision_(options.string("dtype") == "fp16" ? Precision::kFloat16 : Precision::kBfloat16),
      fp32_updates_(options.integer("fp32_updates")) {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw Error(ExitCode::kBadRecipe, "amp.options", context.table, what, hint);
  };
  for (const char* name : kOfScale)
    if (precision_ == Precision::kBfloat16 && options.has(name))
      refuse("`" + std::string(name) + "` is of the loss scale, which bf16 does not need: its range is that of fp32",
             "remove it, or set dtype = \"fp16\"");
  const auto take = [&](const char* name, double& to) {
    if (options.has(name)) to = options.number(name);
  };
  take("init_scale", scaling_.init_scale);
  take("growth_factor", scaling_.growth_factor);
  take("backoff_factor", scaling_.backoff_factor);
  take("min_scale", scaling_.min_scale);
  take("max_scale", scaling_.max_scale);
  if (options.has("growth_interval")) scaling_.growth_interval = options.integer("growth_interval");
  if (scaling_.min_scale > scaling_.init_scale || scaling_.init_scale > scaling_.max_scale)
    refuse("the scale begins outside of its bounds: init_scale " + text(scaling_.init_scale) + ", min_scale " +
               text(scaling_.min_scale) + ", max_scale " + text(scaling_.max_scale),
           "keep min_scale <= init_scale <= max_scale");
}

void Amp::edit(PlanEditor& plan) {
  plan.precision(precision_);
  if (fp32_updates_ > 0) plan.full_precision_updates(fp32_updates_);
  if (precision_ == Precision::kFloat16) plan.loss_scaling(scaling_);
}

bool Amp::exact(std::string& why_not) const {
  why_not = precision_ == Precision::kFloat16 ? "forward and loss round to fp16, and windows that overflow are dropped"
                                              : "forward and loss round to bf16";
  return false;
}

}  // namespace holdfast::plugins
