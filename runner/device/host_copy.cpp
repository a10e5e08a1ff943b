// On the CPU a copy out and a copy back, both at once: there is nothing to overlap them with.
#include "device/host_copy.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "device/domain.hpp"

namespace holdfast::device {
namespace {

/// The storage as bytes.
at::Tensor bytes_of(const c10::Storage& storage) {
  return at::empty({0}, at::TensorOptions(at::kByte).device(storage.device()))
      .set_(storage, 0, {static_cast<std::int64_t>(storage.nbytes())}, {1});
}

}  // namespace

HostCopy::HostCopy(const at::Tensor& tensor) : given_(c10::intrusive_ptr<c10::StorageImpl>()) {
  const at::NoGradGuard no_grad;
  const HostScope host;
  bytes_ = at::empty({static_cast<std::int64_t>(tensor.storage().nbytes())}, at::kByte);
  bytes_.copy_(bytes_of(tensor.storage()));
}

at::Storage HostCopy::back() {
  if (auto used = given_.lock()) return at::Storage(std::move(used));
  const at::NoGradGuard no_grad;
  at::Tensor fresh = at::empty_like(bytes_);
  fresh.copy_(bytes_);
  given_ = fresh.storage().getWeakStorageImpl();
  return fresh.storage();
}

}  // namespace holdfast::device
