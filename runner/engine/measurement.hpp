// What a few updates cost, as figures: memory and time of phases and segments, and which tensors wait for the backward
// pass. Knows no recipe and prints nothing. Torch-free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/options.hpp"

namespace holdfast::device {
class MemoryMeter;
}

namespace holdfast::engine {

struct MeasurementSettings {
  std::int64_t updates = 3;              ///< for figures of time, at least 2: the first one is not counted
  device::MemoryMeter* meter = nullptr;  ///< of the device; not null
};

// Figures of bytes are of the device where they do not say otherwise. They come from one more update after those for
// time, whose saved tensors are looked at; with the same recipe they are the same each time. Figures of time are
// medians.

struct PhaseCost {
  std::string name;              ///< "forward", "backward", "prepare", "update"
  std::int64_t peak = 0;         ///< highest `allocated` in it
  std::int64_t rise = 0;         ///< how much of that is above what was allocated when it began
  std::optional<Duration> time;  ///< of all of it in one update; none where memory ran out before
};

/// Of one full micro-batch. What several segments save counts for the first.
struct SegmentCost {
  std::string name;  ///< "" for what lies outside of segments; a model without any is this row alone
  bool recomputed = false, offloaded = false;
  std::int64_t saved = 0;    ///< waits on the device for the backward pass; of a recomputed segment its inputs
  std::int64_t sent = 0;     ///< waits in the host domain
  std::int64_t dropped = 0;  ///< not kept: computed again in the backward pass
  std::int64_t inputs = 0, outputs = 0;
  std::int64_t forward_rise = 0, backward_rise = 0;      ///< highest above what was allocated when it began
  std::optional<Duration> forward, backward, recompute;  ///< backward without recompute, which is none if there is none
};

/// Saved tensors of one operator, dtype, shape and fate, in one micro-batch.
struct SavedGroup {
  enum class Where { kDevice, kHost, kNowhere };
  std::string operation;  ///< "" where no operator of LibTorch ran: a custom autograd function, inputs of segments
  std::string dtype;
  std::vector<std::int64_t> shape;
  Where where{};                      ///< kNowhere: computed again
  std::int64_t count = 0, bytes = 0;  ///< how many, and all of them together
  std::int64_t tensor_bytes = 0;      ///< of what was saved: less than `bytes` for parts of larger storages
  std::vector<std::string> segments;  ///< in order; "" outside
};

/// The same updates in full precision.
struct PrecisionCost {
  std::string name;  ///< "bf16": what the plan computes in
  Duration update{}, full_update{};
  std::int64_t activations = 0, full_activations = 0;
};

struct Shortage {
  std::string place, text;
};

struct Measurement {
  std::int64_t updates = 0;                                              ///< that figures of time come from
  std::int64_t samples = 0, micro_batches = 0, micro_batch_samples = 0;  ///< of one update
  std::int64_t weights = 0, gradients = 0, moments = 0;                  ///< weights with buffers
  bool moments_on_host = false;
  std::int64_t activations = 0;    ///< allocated after the forward of a micro-batch and not before it
  std::int64_t saved = 0;          ///< of these, tensors that autograd saved: all of them, but for the loss
  std::int64_t other = 0;          ///< allocated before an update, neither weights nor moments
  std::int64_t peak = 0;           ///< highest `allocated` since training began
  std::int64_t budget = 0;         ///< 0: none
  std::optional<Duration> update;  ///< one update without waiting for its data
  std::vector<PhaseCost> phases;
  std::vector<SegmentCost> segments;  ///< in order of their forward, the row of what lies outside last
  std::vector<SavedGroup> largest;    ///< all of them, the most bytes first
  std::optional<PrecisionCost> precision;
  std::optional<Shortage> full_shortage;  ///< the updates in full precision did not fit
  std::optional<Shortage> shortage;       ///< memory ran out: figures are those until then
};

}  // namespace holdfast::engine
