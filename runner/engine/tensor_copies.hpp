// Tensors copied into host memory that is kept from one time to the next: what a save in the background reads while
// training goes on.
#pragma once

#include <vector>

#include "base/state_view.hpp"
#include "holdfast/tensor.hpp"

namespace holdfast::engine {

/// One thread at a time.
class TensorCopies {
 public:
  /// Copies all of them, wherever they live now, and returns views of the copies by the tensors' names: valid until the
  /// next take() or release(). Memory (host domain; pinned for tensors of a GPU) is taken anew only for a tensor whose
  /// dtype or shape is not that of its predecessor. Throws what the allocator throws, and Error 70 for a dtype that
  /// cannot be saved.
  std::vector<base::TensorView> take(const NamedTensors& tensors);
  /// Gives the memory back.
  void release() { copies_.clear(); }

 private:
  std::vector<at::Tensor> copies_;
};

}  // namespace holdfast::engine
