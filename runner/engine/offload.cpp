// Copies by storage, views by offset and strides.
#include "engine/offload.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "device/domain.hpp"
#include "engine/kept_tensor.hpp"

namespace holdfast::engine {

class OffloadPlace : public device::SavedTensor {
 public:
  explicit OffloadPlace(Offload& offload) : offload_(offload) {}
  void keep(const at::Tensor& tensor) override {
    if (offload_.stays(tensor)) {
      where_ = offload_.where_;
      kept_ = KeptTensor(tensor);
      return;
    }
    const at::Tensor source = compact(tensor);
    sizes_ = source.sizes().vec();
    strides_ = source.strides().vec();
    offset_ = source.storage_offset();
    options_ = source.options().requires_grad(false);
    const std::int64_t before = offload_.bytes();
    copy_ = offload_.send(source);
    host_bytes_ = offload_.bytes() - before;
  }
  at::Tensor give() override {
    if (!copy_) return kept_.get(where_);
    const at::NoGradGuard no_grad;
    return at::empty({0}, options_).set_(copy_->back(), offset_, sizes_, strides_);
  }
  [[nodiscard]] Where where() const override { return copy_ ? Where::kHost : Where::kDevice; }
  [[nodiscard]] std::int64_t host_bytes() const override { return host_bytes_; }

 private:
  /// A small part of a large storage travels alone, its strides kept.
  static at::Tensor compact(const at::Tensor& tensor) {
    constexpr std::size_t kSparse = 4;
    if (tensor.storage().nbytes() <= kSparse * tensor.nbytes() || !tensor.is_non_overlapping_and_dense()) return tensor;
    const device::HostScope host;
    return tensor.detach().clone();
  }

  Offload& offload_;
  std::string where_;
  KeptTensor kept_;
  std::vector<std::int64_t> sizes_, strides_;
  std::int64_t offset_ = 0, host_bytes_ = 0;
  at::TensorOptions options_;
  std::shared_ptr<device::HostCopy> copy_;
};

void Offload::begin(std::int64_t min_bytes) {
  min_bytes_ = min_bytes;
  bytes_ = 0;
  sent_.clear();
  where_ = "model.forward";
}

std::unique_ptr<device::SavedTensor> Offload::next() { return std::make_unique<OffloadPlace>(*this); }

bool Offload::stays(const at::Tensor& tensor) const {
  if (fixed_.holds(tensor) || tensor.layout() != at::kStrided || tensor.is_conj() || tensor.is_neg()) return true;
  return static_cast<std::int64_t>(std::min(tensor.nbytes(), tensor.storage().nbytes())) <
         std::max(min_bytes_, std::int64_t{1});
}

std::shared_ptr<device::HostCopy> Offload::send(const at::Tensor& tensor) {
  const c10::Storage& storage = tensor.storage();
  const auto found = sent_.find(storage.unsafeGetStorageImpl());
  if (found != sent_.end() && found->second.version == tensor._version() && !found->second.storage.expired())
    if (auto shared = found->second.copy.lock()) return shared;
  auto copy = std::make_shared<device::HostCopy>(tensor);
  bytes_ += copy->bytes();
  sent_.insert_or_assign(storage.unsafeGetStorageImpl(),
                         Sent{storage.getWeakStorageImpl(), static_cast<std::int64_t>(tensor._version()), copy});
  return copy;
}

}  // namespace holdfast::engine
