// Saved tensors that wait for the backward pass in the host domain. Knows no plan.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "device/host_copy.hpp"
#include "device/saved_tensors.hpp"
#include "engine/fixed_storages.hpp"

namespace holdfast::engine {

/// A storage goes to the host once, however many views of it are saved, and comes back with every offset and stride.
/// What stays: fixed storages and their views, tensors below `min_bytes`, and those whose memory is not plain (sparse,
/// conjugate). All places may outlive it, none the fixed storages.
class Offload : public device::SavedTensors {
 public:
  explicit Offload(const FixedStorages& fixed) : fixed_(fixed) {}

  /// A forward begins: nothing of the one before is shared.
  void begin(std::int64_t min_bytes);
  /// Names what runs now, for errors: "segment 'block.1'".
  void set_place(std::string where) { where_ = std::move(where); }
  /// Sent to the host since begin().
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  std::unique_ptr<device::SavedTensor> next() override;

 private:
  friend class OffloadPlace;
  struct Sent {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;  ///< keeps the address from being used anew
    std::int64_t version;
    std::weak_ptr<device::HostCopy> copy;
  };
  [[nodiscard]] bool stays(const at::Tensor& tensor) const;
  std::shared_ptr<device::HostCopy> send(const at::Tensor& tensor);

  const FixedStorages& fixed_;
  std::int64_t min_bytes_ = 0, bytes_ = 0;
  std::string where_ = "model.forward";
  std::unordered_map<const c10::StorageImpl*, Sent> sent_;
};

}  // namespace holdfast::engine
