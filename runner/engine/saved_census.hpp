// The tensors that one forward saves for its backward pass: how large, by which operator, in which segment, kept where.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "device/operator_names.hpp"
#include "device/saved_tensors.hpp"
#include "engine/fixed_storages.hpp"

namespace holdfast::engine {

/// The first save of a storage; later ones of the same storage hold no memory of their own.
struct SavedRecord {
  std::string operation;  ///< "addmm"; empty where none was running (a custom autograd function)
  std::string dtype;      ///< "float32"
  std::vector<std::int64_t> shape;
  std::int64_t segment = -1;  ///< as told by set_segment()
  device::SavedTensor::Where where{};
  std::int64_t bytes = 0;  ///< of the whole storage, of which the tensor may be a part
  std::int64_t tensor_bytes = 0;
};

/// Counts from its making until end(), on one thread. Fixed storages (weights, buffers, the batch) count nothing: they
/// are there anyway.
class SavedCensus : public device::SavedTensorsWatch {
 public:
  explicit SavedCensus(const FixedStorages& fixed) : fixed_(fixed) {}

  void set_segment(std::int64_t segment) { segment_ = segment; }
  /// What was saved, without what is already free again. Once, where the forward has let go of its temporaries.
  std::vector<SavedRecord> end();
  /// All that was saved, where the forward broke off. Once.
  std::vector<SavedRecord> broken_off() { return std::move(records_); }

  std::unique_ptr<device::SavedTensor> plain() override;
  void saw(const at::Tensor& tensor, const device::SavedTensor& place) override;

 private:
  /// Keeps the address of a storage from being used anew, not its memory.
  using Weak = c10::weak_intrusive_ptr<c10::StorageImpl>;
  using Storages = std::unordered_set<const c10::StorageImpl*>;

  const FixedStorages& fixed_;
  std::int64_t segment_ = -1;
  std::vector<SavedRecord> records_;
  std::vector<Weak> storages_;  ///< of records_
  Storages kept_, dropped_;     ///< on the device; computed again
  device::OperatorNames operators_;
  device::SavedTensorsWatchScope scope_{*this};
};

/// "float32", "int64", as data sets name them.
std::string dtype_text(at::ScalarType dtype);

}  // namespace holdfast::engine
