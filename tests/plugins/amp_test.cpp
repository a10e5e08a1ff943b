// The amp strategy: what it writes into the plan, and what it refuses.
#include "amp/amp.hpp"

#include <doctest/doctest.h>

#include "fixtures/components.hpp"

using namespace holdfast;
using holdfast::plugins::Amp;
using holdfast::test::defaults;
using holdfast::test::Lender;
using holdfast::test::told;

namespace {

Options fp16() {
  Options options = defaults<Amp>();
  options.set("dtype", std::string("fp16"));
  return options;
}

StepPlan planned(const Options& options, std::string* why_not = nullptr) {
  Lender lender;
  Amp strategy(options, lender.context("strategy.amp"));
  StepPlan plan;
  std::vector<PlanConflict> conflicts;
  PlanEditor editor(plan, "strategy.amp", conflicts);
  strategy.edit(editor);
  CHECK(conflicts.empty());
  CHECK(strategy.phases() == 0);
  std::string why;
  CHECK_FALSE(strategy.exact(why));
  if (why_not) *why_not = why;
  return plan;
}

std::string refusal(const Options& options) {
  Lender lender;
  return told([&] { Amp(options, lender.context("strategy.amp")); });
}

}  // namespace

TEST_CASE("bf16 is the default: no scale, no updates in fp32, not exact") {
  std::string why;
  const StepPlan plan = planned(defaults<Amp>(), &why);
  CHECK(plan.precision.value == Precision::kBfloat16);
  CHECK(plan.precision.owner == "strategy.amp");
  CHECK(plan.loss_scaling.owner == "default");
  CHECK(plan.full_precision_updates.owner == "default");
  CHECK(why == "forward and loss round to bf16");
}

TEST_CASE("fp16 brings a scale with the documented defaults") {
  std::string why;
  const StepPlan plan = planned(fp16(), &why);
  CHECK(plan.precision.value == Precision::kFloat16);
  CHECK(plan.loss_scaling.owner == "strategy.amp");
  const LossScaling& scaling = plan.loss_scaling.value;
  CHECK(scaling.init_scale == 65536);
  CHECK(scaling.growth_factor == 2);
  CHECK(scaling.backoff_factor == 0.5);
  CHECK(scaling.growth_interval == 2000);
  CHECK(scaling.min_scale == 1);
  CHECK(scaling.max_scale == 16777216);
  CHECK(why == "forward and loss round to fp16, and windows that overflow are dropped");
}

TEST_CASE("every option of the scale reaches the plan") {
  Options options = fp16();
  options.set("fp32_updates", std::int64_t{7});
  options.set("init_scale", 1024.0);
  options.set("growth_factor", 4.0);
  options.set("backoff_factor", 0.25);
  options.set("growth_interval", std::int64_t{3});
  options.set("min_scale", 16.0);
  options.set("max_scale", 4096.0);
  const StepPlan plan = planned(options);
  CHECK(plan.full_precision_updates.value == 7);
  const LossScaling& scaling = plan.loss_scaling.value;
  CHECK(scaling.init_scale == 1024);
  CHECK(scaling.growth_factor == 4);
  CHECK(scaling.backoff_factor == 0.25);
  CHECK(scaling.growth_interval == 3);
  CHECK(scaling.min_scale == 16);
  CHECK(scaling.max_scale == 4096);
}

TEST_CASE("a scale that begins outside of its bounds is refused with all three") {
  Options options = fp16();
  options.set("min_scale", 4096.0);
  options.set("max_scale", 1024.0);
  CHECK(
      refusal(options) ==
      "78 strategy.amp: error[amp.options]: the scale begins outside of its bounds: init_scale 65536, min_scale 4096, "
      "max_scale 1024\n  hint: keep min_scale <= init_scale <= max_scale");
}

TEST_CASE("an option of the scale beside bf16 is refused") {
  Options options = defaults<Amp>();
  options.set("growth_interval", std::int64_t{100});
  CHECK(refusal(options) ==
        "78 strategy.amp: error[amp.options]: `growth_interval` is of the loss scale, which bf16 does not need: its "
        "range "
        "is that of fp32\n  hint: remove it, or set dtype = \"fp16\"");
}
