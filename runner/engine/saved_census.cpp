// One record a storage.
#include "engine/saved_census.hpp"

#include <ATen/ATen.h>

#include <utility>

#include "engine/kept_tensor.hpp"

namespace holdfast::engine {

using Where = device::SavedTensor::Where;

std::string dtype_text(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kHalf:
      return "float16";
    case at::kBFloat16:
      return "bfloat16";
    case at::kLong:
      return "int64";
    case at::kInt:
      return "int32";
    case at::kByte:
      return "uint8";
    case at::kBool:
      return "bool";
    default:
      return c10::toString(dtype);
  }
}

std::unique_ptr<device::SavedTensor> SavedCensus::plain() { return std::make_unique<KeptPlace>("model.forward"); }

void SavedCensus::saw(const at::Tensor& tensor, const device::SavedTensor& place) {
  if (!tensor.defined() || fixed_.holds(tensor)) return;
  const c10::Storage& storage = tensor.storage();
  const auto* const impl = storage.unsafeGetStorageImpl();
  auto bytes = static_cast<std::int64_t>(storage.nbytes());
  if (bytes == 0) return;
  if (place.where() == Where::kHost)
    bytes = place.host_bytes();
  else if (place.where() == Where::kDevice && !kept_.insert(impl).second)
    return;
  else if (place.where() == Where::kNowhere && (kept_.contains(impl) || !dropped_.insert(impl).second))
    return;
  if (bytes == 0) return;  // another place sent it to the host
  storages_.push_back(storage.getWeakStorageImpl());
  records_.push_back({std::string(device::OperatorNames::current()), dtype_text(tensor.scalar_type()),
                      tensor.sizes().vec(), segment_, place.where(), bytes,
                      static_cast<std::int64_t>(tensor.nbytes())});
}

std::vector<SavedRecord> SavedCensus::end() {
  std::vector<SavedRecord> alive;
  for (std::size_t i = 0; i < records_.size(); ++i)
    if (records_[i].where != Where::kDevice || !storages_[i].expired()) alive.push_back(std::move(records_[i]));
  return alive;
}

}  // namespace holdfast::engine
