// Evaluation.
#include "engine/evaluation.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "base/plugin_guard.hpp"
#include "device/autocast.hpp"
#include "device/out_of_memory.hpp"
#include "device/random.hpp"
#include "engine/segments.hpp"
#include "engine/split.hpp"
#include "engine/weighing.hpp"

namespace holdfast::engine {
namespace {

class EvalMode {
 public:
  explicit EvalMode(Model& model) : model_(model) { model_.train(false); }
  ~EvalMode() { model_.train(true); }
  EvalMode(const EvalMode&) = delete;
  EvalMode& operator=(const EvalMode&) = delete;

 private:
  Model& model_;
  at::NoGradGuard no_grad_;
};

struct Totals {
  double loss = 0, weight = 0;
  Scores scores;
};

Outputs add_loss(Model& model, const Batch& batch, std::optional<at::ScalarType> dtype, Totals& totals) {
  const at::DeviceType device = batch.fields.empty() ? at::kCPU : batch.fields.front().tensor.device().type();
  const device::AutocastScope reduced(device, {dtype});
  PlainSegments segments;
  Outputs outputs = model.forward(batch, segments);
  totals.loss += model.loss(outputs, batch).item<double>();
  return outputs;
}

void add_batch(Model& model, const Batch& batch, std::optional<at::ScalarType> dtype, Totals& totals) {
  const base::PluginCallScope running("model", "evaluation");
  totals.weight += weigh(model, {&batch, 1}, "dataset.eval");  // first: it refuses what the kernels would choke on
  const Outputs outputs = add_loss(model, batch, dtype, totals);
  model.score(outputs, batch, totals.scores);
}

[[noreturn]] void rethrow_named(const std::exception& failure, const std::string& place) {
  if (dynamic_cast<const Error*>(&failure)) throw;
  if (const auto* shortage = dynamic_cast<const std::bad_alloc*>(&failure)) {
    const auto [text, hint] = device::host_shortage(*shortage);
    throw Error(ExitCode::kHostOutOfMemory, "memory.host", place, text, hint);
  }
  throw Error(ExitCode::kBug, "model.exception", place, device::sentence_of(failure));
}

/// Adds a whole batch, or nothing and tells why.
std::optional<OomReport> try_batch(Model& model, const Batch& batch, Split& split, const EvaluationSettings& settings,
                                   const StepPlan& plan, std::int64_t number, Totals& totals) {
  OomReport report;
  Totals sum = totals;
  try {
    for (const Batch& part : split(batch, plan.micro_batch_size.value)) {
      device::seed_generators(settings.seed, settings.update, part.samples.front().index);
      add_batch(model, part, settings.dtype, sum);
    }
    totals = std::move(sum);
    return std::nullopt;
  } catch (const std::exception& failure) {
    if (!device::is_device_out_of_memory(failure, report.text))
      rethrow_named(failure, "evaluation, batch " + std::to_string(number));
  }
  // The exception is gone here, and with it the tensors that it held.
  report.update = settings.update;
  report.phase = "eval";
  report.micro_batch = number;
  return report;
}

std::vector<std::pair<std::string, double>> divide(const Totals& totals) {
  std::vector<std::pair<std::string, double>> result{{"loss", totals.loss / totals.weight}};
  for (const auto& entry : totals.scores.entries) {
    const double mean = entry.sum / entry.weight;
    result.emplace_back(entry.name, entry.exponential ? std::exp(mean) : mean);
  }
  return result;
}

}  // namespace

std::optional<std::vector<std::pair<std::string, double>>> evaluate(Model& model, const Dataset& dataset,
                                                                    const EvaluationSettings& settings,
                                                                    const StepPlan& plan, const EvaluationCalls& calls,
                                                                    const StopFlag* stop) {
  const EvalMode mode(model);
  const NamedTensors parameters = model.parameters();
  Split split(parameters.empty() ? at::Device(at::kCPU) : parameters.front().tensor.device());
  Loader loader(dataset, settings.loader);
  loader.start(0, loader.plan().windows_per_epoch());
  Totals totals;
  while (!loader.done()) {
    const bool asked = stop && stop->asked();
    auto next = asked ? std::nullopt : loader.next([stop] { return stop && stop->raised(); });
    if (!next) {
      loader.leave();
      return std::nullopt;
    }
    LoadedWindow& loaded = *next;
    calls.settle(loaded);
    const auto samples = static_cast<std::int64_t>(loaded.batch.samples.size());
    if (samples == 0) continue;
    while (auto report = try_batch(model, loaded.batch, split, settings, plan, loaded.window.number, totals))
      calls.recover(*report, samples);
  }
  return divide(totals);
}

}  // namespace holdfast::engine
