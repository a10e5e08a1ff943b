// A trainer that measures: real windows, real updates, and nobody told.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <unordered_set>

#include "device/out_of_memory.hpp"
#include "engine/measurement.hpp"
#include "engine/precision.hpp"
#include "engine/trainer_impl.hpp"
#include "engine/update_series.hpp"

namespace holdfast::engine {
namespace {

constexpr std::int64_t kPatience = 100;  // windows in a row that become no update

/// Each storage once, however many tensors share it.
std::int64_t bytes_of(const NamedTensors& tensors) {
  std::int64_t sum = 0;
  std::unordered_set<const c10::StorageImpl*> seen;
  for (const auto& [name, tensor] : tensors)
    if (tensor.has_storage() && seen.insert(tensor.storage().unsafeGetStorageImpl()).second)
      sum += static_cast<std::int64_t>(tensor.storage().nbytes());
  return sum;
}

/// Of gradients: dense, each parameter's own.
std::int64_t gradient_bytes(const NamedTensors& parameters) {
  std::int64_t sum = 0;
  for (const auto& [name, tensor] : parameters) sum += static_cast<std::int64_t>(tensor.nbytes());
  return sum;
}

/// Puts back what a measurement changes of a trainer's parts.
class Watching {
 public:
  Watching(Step& step, TrainerParts& parts, SegmentRecorder& recorder, device::PhaseMemory& phases)
      : step_(step), parts_(parts), before_(parts.phase_memory) {
    step_.watch(&recorder);
    parts_.phase_memory = &phases;
  }
  ~Watching() {
    step_.watch(nullptr);
    parts_.phase_memory = before_;
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  Step& step_;
  TrainerParts& parts_;
  device::PhaseMemory* before_;
};

/// Precision kFull in the plan while it lives.
class FullPrecision {
 public:
  explicit FullPrecision(StepPlan& plan) : plan_(plan), before_(plan.precision.value) {
    plan_.precision.value = Precision::kFull;
  }
  ~FullPrecision() { plan_.precision.value = before_; }
  FullPrecision(const FullPrecision&) = delete;
  FullPrecision& operator=(const FullPrecision&) = delete;

 private:
  StepPlan& plan_;
  Precision before_;
};

}  // namespace

Measurement Trainer::Impl::measure(const MeasurementSettings& settings) {
  Measurement result;
  device::MemoryMeter& meter = *settings.meter;
  result.budget = meter.reading().budget;
  result.weights = bytes_of(tensors);
  result.gradients = gradient_bytes(parameters);
  const std::int64_t outer = meter.open_peak();
  try {
    result.moments = bytes_of(moments());  // as a run does before its first update
  } catch (const std::exception& failure) {
    result.shortage.emplace();
    if (!device::is_device_out_of_memory(failure, result.shortage->text)) throw;
    result.shortage->place = "the optimizer's state";
    result.peak = meter.close_peak(outer);
    return result;
  }
  result.moments_on_host = plan.optimizer_placement.value == Placement::kHost;
  model.train(true);
  const at::AutoGradMode gradients(true);
  loader.start(progress.window, std::int64_t{1} << 62);
  progress.update = std::max(progress.update, plan.full_precision_updates.value);
  SegmentRecorder recorder(meter);
  device::PhaseMemory phases(meter);
  const Watching watching(step, parts, recorder, phases);
  UpdateSeries series(recorder, phases, [this] { return measured_update(); });
  series.run(settings.updates);
  summarise(series, result);
  result.peak = meter.close_peak(outer);
  if (plan.precision.value == Precision::kFull || result.shortage) return result;

  const std::string reduced = name_of(plan.precision.value);
  const FullPrecision full(plan);
  UpdateSeries again(recorder, phases, [this] { return measured_update(); });
  again.run(settings.updates);
  Measurement plain;
  summarise(again, plain);
  result.full_shortage = plain.shortage;
  if (!plain.shortage)
    result.precision = PrecisionCost{reduced, *result.update, *plain.update, result.activations, plain.activations};
  return result;
}

// Windows of full size where the data have any, so that all updates do the same work.
MeasuredUpdate Trainer::Impl::measured_update() {
  const auto clock = [] { return std::chrono::steady_clock::now(); };
  for (std::int64_t tried = 0; tried < kPatience; ++tried) {
    LoadedWindow loaded = loader.next();
    const bool ragged = loaded.window.count < parts.settings.batch_size && loader.plan().windows_per_epoch() > 1;
    if (!ragged) settle(loaded, "dataset.train");
    if (ragged || loaded.batch.samples.empty()) continue;
    const std::int64_t number = progress.update + 1;
    const auto begun = clock();
    auto done = step.run(loaded.batch, {number, plan::learning_rate(parts.settings.optimizer, parts.settings.schedule,
                                                                    number, total_updates)});
    const auto whole = std::chrono::duration_cast<Duration>(clock() - begun);
    if (auto* shortage = std::get_if<OomReport>(&done)) return {{}, whole, std::move(*shortage)};
    const auto& result = std::get<StepResult>(done);
    if (result.fate == Fate::kNonFinite) loss_scale.overflowed(number);
    if (result.fate != Fate::kApplied) continue;
    loss_scale.applied(number);
    ++progress.update;
    return {result.times, whole, std::nullopt};
  }
  throw Error(ExitCode::kDiverged, "measure.fruitless", "update " + std::to_string(progress.update + 1),
              "none of " + std::to_string(kPatience) + " windows could be applied, so there is nothing to measure",
              "look for NaN, for labels that are all masked, and lower optimizer.lr or the loss scale");
}

}  // namespace holdfast::engine
