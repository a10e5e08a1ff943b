// Names of dtypes and byte spans.
#include "engine/tensor_bytes.hpp"

#include <ATen/ATen.h>

#include <array>
#include <cstring>
#include <memory>
#include <span>
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

at::Tensor on_host(const at::Tensor& tensor) {
  const device::HostScope host;
  return tensor.cpu().contiguous();
}

std::span<const std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

}  // namespace

std::string dtype_name(at::ScalarType dtype) {
  for (const auto& [known, name] : kDtypes)
    if (known == dtype) return name;
  throw Error(ExitCode::kBug, "tensor.dtype", "model",
              std::string("a tensor has the dtype ") + c10::toString(dtype) + ", which cannot be saved");
}

std::vector<base::TensorView> views_of(const NamedTensors& tensors, std::vector<at::Tensor>& kept, Copies copies) {
  std::vector<base::TensorView> views;
  views.reserve(tensors.size());
  const auto only = std::make_shared<at::Tensor>();  // one copy at a time for all views
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor given = tensor.detach();
    auto& view = views.emplace_back(base::TensorView{name, dtype_name(given.scalar_type()), given.sizes().vec()});
    if (copies == Copies::kNow || (given.is_cpu() && given.is_contiguous())) {
      kept.push_back(on_host(given));
      view.bytes = bytes_of(kept.back());
    } else {
      view.made_size = given.nbytes();
      view.make = [given, only] {
        only->reset();
        *only = on_host(given);
        return bytes_of(*only);
      };
    }
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
