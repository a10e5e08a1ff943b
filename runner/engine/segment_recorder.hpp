// A stopwatch and a memory meter at the edges of segments, forward and backward. Knows no updates and no plan.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/memory_meter.hpp"
#include "engine/saved_census.hpp"
#include "engine/segment_watch.hpp"
#include "holdfast/options.hpp"

namespace holdfast::engine {

/// One segment, or all that lies outside of them, in one micro-batch. Bytes are of the device.
struct SegmentTrace {
  std::string name;  ///< empty: outside of segments
  Trade trade;
  std::int64_t input_bytes = 0, output_bytes = 0;  ///< without weights and batch
  std::int64_t forward_rise =
      0;  ///< highest above what was allocated when it began; a part of it for what lies outside
  std::int64_t backward_rise = 0;  ///< the same of its backward pass: gradients, and what is computed again
  Duration forward{}, backward{};  ///< backward without recompute
  Duration recompute{};
};

struct MicroBatchTrace {
  std::int64_t samples = 0;
  std::int64_t before = 0;       ///< allocated when the forward began
  std::int64_t activations = 0;  ///< how much more when it had ended
  std::int64_t forward_peak = 0, backward_peak = 0;
  std::vector<SegmentTrace> segments;  ///< outermost ones, in order
  SegmentTrace outside;
  std::vector<SavedRecord> saved;  ///< only while taking stock
};

/// A segment's backward pass lasts from the moment when the gradient of an output is complete until that of an input
/// is, or another segment begins: autograd goes through the operators in the reverse order of the forward. Backward
/// passes run in the calling thread (as they do on the CPU).
class SegmentRecorder : public SegmentWatch {
 public:
  explicit SegmentRecorder(device::MemoryMeter& meter) : meter_(meter) {}
  ~SegmentRecorder() override { close(); }

  /// Whether forwards from now on also note each saved tensor, which takes time.
  void take_stock(bool on) { stock_ = on; }
  /// A step threw: what it was in is over. Nothing where none had begun.
  void abandon();
  /// The segment that ran last, "" outside of any.
  [[nodiscard]] std::string place() const;
  [[nodiscard]] const std::vector<MicroBatchTrace>& traces() const { return traces_; }
  void clear() { traces_.clear(); }

  void forward_begins(const Batch& batch, const FixedStorages& fixed) override;
  void segment_begins(std::string_view name, const std::vector<at::Tensor>& inputs) override;
  void segment_ends(const std::vector<at::Tensor>& outputs, Trade trade) override;
  void forward_ends() override;
  void backward_begins() override;
  void recompute_begins() override;
  void recompute_ends() override;
  void backward_ends() override;

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kOutside = -1;

  /// From now on time and memory go to this one.
  void open(std::int64_t owner);
  void close() noexcept;
  /// Calls `switch_to` in the backward pass once the gradient of one of them is complete.
  template <class F>
  void at_gradient(const std::vector<at::Tensor>& tensors, F switch_to);
  [[nodiscard]] SegmentTrace& trace(std::int64_t owner);
  [[nodiscard]] std::int64_t bytes_of(const std::vector<at::Tensor>& tensors) const;

  device::MemoryMeter& meter_;
  std::vector<MicroBatchTrace> traces_;
  const FixedStorages* fixed_ = nullptr;
  bool stock_ = false, open_ = false, backward_ = false;
  std::optional<SavedCensus> census_;
  // The interval that is open.
  std::int64_t owner_ = kOutside, entry_ = 0, outer_ = 0;
  Clock::time_point since_, recompute_since_;
  Duration recompute_{};
};

}  // namespace holdfast::engine
