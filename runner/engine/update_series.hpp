// Updates that are carried out to be measured, and what was seen of them. Knows neither data nor how an update is made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "device/phase_memory.hpp"
#include "engine/measurement.hpp"
#include "engine/segment_recorder.hpp"
#include "engine/step.hpp"

namespace holdfast::engine {

struct MeasuredUpdate {
  StepTimes times;
  Duration whole{};  ///< without waiting for data
  std::optional<OomReport> shortage;
};

/// The first update is for warming up: kernels choose, moments and caches come to be, the plan learns its segments. The
/// last one is looked at for saved tensors. Those between tell the time. When memory runs out the series ends.
class UpdateSeries {
 public:
  /// `update` carries out the next one while `recorder` watches the step and `phases` records its phases.
  using Update = std::function<MeasuredUpdate()>;
  UpdateSeries(SegmentRecorder& recorder, device::PhaseMemory& phases, Update update)
      : recorder_(recorder), phases_(phases), update_(std::move(update)) {}

  /// 1 to warm up, `updates` - 1 for the time, 1 to look at.
  void run(std::int64_t updates);

  [[nodiscard]] const std::vector<MeasuredUpdate>& timed() const { return timed_; }
  /// Micro-batches of the timed updates.
  [[nodiscard]] const std::vector<MicroBatchTrace>& traces() const { return traces_; }
  /// Micro-batches of the update that was looked at: the last one that there was when memory ran out.
  [[nodiscard]] const std::vector<MicroBatchTrace>& looked() const { return looked_; }
  [[nodiscard]] const std::vector<device::PhaseFigures>& phases() const { return figures_; }
  [[nodiscard]] const std::optional<Shortage>& shortage() const { return shortage_; }

 private:
  /// False when memory ran out.
  bool next(bool stock, bool time);

  SegmentRecorder& recorder_;
  device::PhaseMemory& phases_;
  Update update_;
  std::vector<MeasuredUpdate> timed_;
  std::vector<MicroBatchTrace> traces_, looked_;
  std::vector<device::PhaseFigures> figures_;
  std::optional<Shortage> shortage_;
};

/// Fills in what the series tells. `into` knows weights and moments already. (measurement.cpp)
void summarise(const UpdateSeries& series, Measurement& into);

}  // namespace holdfast::engine
