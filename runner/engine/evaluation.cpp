// Evaluation.
#include "engine/evaluation.hpp"

#include <torch/torch.h>

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

[[noreturn]] void rethrow_named(const std::exception& failure, std::int64_t batch) {
  if (dynamic_cast<const Error*>(&failure) || dynamic_cast<const std::bad_alloc*>(&failure)) throw;
  std::string text;
  const std::string place = "evaluation, batch " + std::to_string(batch);
  if (device::is_device_out_of_memory(failure, text))
    throw Error(ExitCode::kDeviceOutOfMemory, "memory.device", place, text, "set a smaller train.eval_batch_size");
  throw Error(ExitCode::kBug, "model.exception", place, device::sentence_of(failure));
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
                                                                    const std::function<void(LoadedWindow&)>& settle,
                                                                    const StopFlag* stop) {
  const EvalMode mode(model);
  const NamedTensors parameters = model.parameters();
  Split split(parameters.empty() ? at::Device(at::kCPU) : parameters.front().tensor.device());
  Loader loader(dataset, settings.loader);
  loader.start(0, loader.plan().windows_per_epoch());
  Totals totals;
  while (!loader.done()) {
    if (stop && stop->asked()) return std::nullopt;
    LoadedWindow loaded = loader.next();
    settle(loaded);
    if (loaded.batch.samples.empty()) continue;
    device::seed_generators(settings.seed, settings.update, loaded.batch.samples.front().index);
    try {
      add_batch(model, split(loaded.batch, 0).front(), settings.dtype, totals);
    } catch (const std::exception& failure) {
      rethrow_named(failure, loaded.window.number);
    }
  }
  return divide(totals);
}

}  // namespace holdfast::engine
