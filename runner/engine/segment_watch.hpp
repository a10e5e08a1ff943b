// Where a measurement looks into a step: at the edges of forwards, of segments and of backward passes. Knows no
// figures.
#pragma once

#include <string_view>
#include <vector>

#include "engine/fixed_storages.hpp"
#include "holdfast/dataset.hpp"

namespace holdfast::engine {

/// What the plan made of a segment.
struct Trade {
  bool recomputed = false, offloaded = false;
};

/// Called on the training thread, in this order: forward_begins, segments in turn, forward_ends, backward_begins,
/// recomputations in turn, backward_ends. What is inside a segment is part of it: no segment inside is told. When
/// something throws, the calls end there.
class SegmentWatch {
 public:
  virtual ~SegmentWatch() = default;
  /// `fixed` holds what no trade can free, this batch included; it outlives the forward.
  virtual void forward_begins(const Batch& batch, const FixedStorages& fixed) = 0;
  virtual void segment_begins(std::string_view name, const std::vector<at::Tensor>& inputs) = 0;
  virtual void segment_ends(const std::vector<at::Tensor>& outputs, Trade trade) = 0;
  virtual void forward_ends() = 0;
  virtual void backward_begins() = 0;
  virtual void recompute_begins() = 0;
  virtual void recompute_ends() = 0;
  virtual void backward_ends() = 0;
};

}  // namespace holdfast::engine
