// Names of dtypes and byte spans.
#include "engine/tensor_bytes.hpp"

#include <torch/torch.h>

#include <array>
#include <cstring>
#include <utility>

#include "device/domain.hpp"

namespace holdfast::engine {
namespace {

constexpr std::array<std::pair<at::ScalarType, const char*>, 10> kDtypes = {{
    {at::kDouble, "F64"},
    {at::kFloat, "F32"},
    {at::kHalf, "F16"},
    {at::kBFloat16, "BF16"},
    {at::kLong, "I64"},
    {at::kInt, "I32"},
    {at::kShort, "I16"},
    {at::kChar, "I8"},
    {at::kByte, "U8"},
    {at::kBool, "BOOL"},
}};

[[noreturn]] void damaged(const std::string& where, const std::string& name, const std::string& what) {
  throw Error(ExitCode::kMissingInput, "checkpoint.tensor", where, "tensor '" + name + "' " + what);
}

at::Tensor tensor_of(const base::TensorView& view, const std::string& where) {
  for (const auto& [dtype, name] : kDtypes) {
    if (view.dtype != name) continue;
    at::Tensor tensor = at::empty(view.shape, dtype);
    if (tensor.nbytes() != view.bytes.size())
      damaged(where, view.name,
              "has " + std::to_string(view.bytes.size()) + " bytes, but its shape needs " +
                  std::to_string(tensor.nbytes()));
    if (!view.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), view.bytes.data(), view.bytes.size());
    return tensor;
  }
  damaged(where, view.name, "has the dtype '" + view.dtype + "', which is unknown");
}

}  // namespace

std::string dtype_name(at::ScalarType dtype) {
  for (const auto& [known, name] : kDtypes)
    if (known == dtype) return name;
  throw Error(ExitCode::kBug, "tensor.dtype", "model",
              std::string("a tensor has the dtype ") + c10::toString(dtype) + ", which cannot be saved");
}

std::vector<base::TensorView> views_of(const NamedTensors& tensors, std::vector<at::Tensor>& kept) {
  const device::HostScope on_host;
  std::vector<base::TensorView> views;
  views.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor host = tensor.detach().cpu().contiguous();
    kept.push_back(host);
    const auto* bytes = static_cast<const std::byte*>(host.const_data_ptr());
    views.push_back({name, dtype_name(host.scalar_type()), host.sizes().vec(), {bytes, host.nbytes()}});
  }
  return views;
}

NamedTensors tensors_of(const std::vector<base::TensorView>& views, const std::string& where) {
  const device::HostScope on_host;
  NamedTensors tensors;
  for (const auto& view : views) tensors.push_back({view.name, tensor_of(view, where)});
  return tensors;
}

}  // namespace holdfast::engine
