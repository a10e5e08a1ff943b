// Bytes of a device tensor's storage, kept in the host domain. The seam for a GPU: pinned memory, a stream of its own
// and a copy begun ahead of need belong here.
#pragma once

#include <ATen/core/Tensor.h>

namespace holdfast::device {

/// The whole storage of one tensor, as it is now. One thread at a time.
class HostCopy {
 public:
  /// Strided tensors on the CPU. Throws MemoryExhausted when the host domain is full.
  explicit HostCopy(const at::Tensor& tensor);
  /// A storage with the same bytes, allocated in the calling thread's domain; the one given before while it is in use.
  at::Storage back();
  [[nodiscard]] std::int64_t bytes() const { return bytes_.numel(); }

 private:
  at::Tensor bytes_;  ///< uint8
  c10::weak_intrusive_ptr<c10::StorageImpl> given_;
};

}  // namespace holdfast::device
