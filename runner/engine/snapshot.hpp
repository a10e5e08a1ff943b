// Copies of a model's buffers (running statistics), so that a window can leave no trace.
#pragma once

#include <vector>

#include "holdfast/tensor.hpp"

namespace holdfast::engine {

/// Copies every buffer at each window: version counters cannot be trusted (batch_norm writes its running statistics
/// without raising them).
class Snapshot {
 public:
  explicit Snapshot(const NamedTensors& tensors);
  void take();
  void restore();

 private:
  std::vector<at::Tensor> originals_, copies_;
};

}  // namespace holdfast::engine
