// Memory that no trade can free: parameters, buffers, the batch, and every view of them. Known by storage.
#pragma once

#include <unordered_set>
#include <vector>

#include "holdfast/dataset.hpp"
#include "holdfast/tensor.hpp"

namespace holdfast::engine {

class FixedStorages {
 public:
  void add(const NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors)
      if (tensor.has_storage()) state_.insert(tensor.storage().unsafeGetStorageImpl());
  }
  /// Instead of the batch before. It must live while tensors are asked for.
  void set_batch(const Batch& batch) {
    batch_.clear();
    for (const auto& [name, tensor] : batch.fields)
      if (tensor.has_storage()) batch_.insert(tensor.storage().unsafeGetStorageImpl());
  }
  /// Also for tensors without storage (sparse ones): they stay where they are.
  [[nodiscard]] bool holds(const at::Tensor& tensor) const {
    if (!tensor.has_storage()) return true;
    const auto* storage = tensor.storage().unsafeGetStorageImpl();
    return state_.contains(storage) || batch_.contains(storage);
  }

 private:
  std::unordered_set<const c10::StorageImpl*> state_, batch_;
};

}  // namespace holdfast::engine
