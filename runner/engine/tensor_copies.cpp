// memcpy where bytes lie as they are saved: it moves large blocks past the caches, LibTorch's copy kernels do not.
#include "engine/tensor_copies.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>

#include "device/domain.hpp"
#include "engine/tensor_bytes.hpp"

namespace holdfast::engine {
namespace {

constexpr std::int64_t kWorthThreads = std::int64_t{8} << 20;  // bytes

bool fits(const at::Tensor& copy, const at::Tensor& tensor) {
  return copy.defined() && copy.scalar_type() == tensor.scalar_type() && copy.sizes() == tensor.sizes();
}

at::Tensor room_for(const at::Tensor& tensor) {
  return at::empty(tensor.sizes(), at::TensorOptions(tensor.scalar_type()).pinned_memory(tensor.is_cuda()));
}

void copy_bytes(const at::Tensor& from, at::Tensor& to) {
  const auto* source = static_cast<const char*>(from.const_data_ptr());
  auto* target = static_cast<char*>(to.mutable_data_ptr());
  const auto size = static_cast<std::int64_t>(from.nbytes());
  const std::int64_t share = std::max(kWorthThreads, size / std::max(1, at::get_num_threads()));
  at::parallel_for(0, size, share, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace

std::vector<base::TensorView> TensorCopies::take(const NamedTensors& tensors) {
  const at::NoGradGuard no_grad;
  const device::HostScope on_host;
  copies_.resize(tensors.size());
  std::vector<base::TensorView> views;
  views.reserve(tensors.size());
  auto copy = copies_.begin();
  for (const auto& [name, tensor] : tensors) {
    if (!fits(*copy, tensor)) {
      *copy = at::Tensor();  // first: two of a kind need not fit at once
      *copy = room_for(tensor);
    }
    // Copies from a GPU wait: the next update may overwrite what they read.
    if (tensor.device().is_cpu() && tensor.is_contiguous() && tensor.nbytes() > 0)
      copy_bytes(tensor, *copy);
    else
      copy->copy_(tensor.detach());
    const auto* bytes = static_cast<const std::byte*>(copy->const_data_ptr());
    views.push_back({name, dtype_name(copy->scalar_type()), copy->sizes().vec(), {bytes, copy->nbytes()}});
    ++copy;
  }
  return views;
}

}  // namespace holdfast::engine
