// Contents by copy, versions by setting them back: a plain copy would look like a change to whoever saved the buffer.
#include "engine/buffer_states.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "device/domain.hpp"
#include "device/saved_tensors.hpp"

namespace holdfast::engine {

BufferStates::BufferStates(const NamedTensors& buffers) {
  for (const auto& [name, tensor] : buffers) {
    if (tensor.numel() <= kSmall)
      small_.push_back(tensor.detach());
    else
      large_.push_back({name, tensor.detach()});
  }
}

BufferStates::Copies BufferStates::take() const {
  const device::HostScope host;
  const at::NoGradGuard no_grad;
  Copies copies;
  copies.reserve(small_.size());
  for (const auto& tensor : small_) copies.push_back(tensor.clone());
  return copies;
}

std::vector<std::int64_t> BufferStates::versions() const {
  std::vector<std::int64_t> versions;
  for (const auto& [name, tensor] : large_) versions.push_back(tensor._version());
  return versions;
}

std::string BufferStates::changed_since(const std::vector<std::int64_t>& versions) const {
  for (std::size_t i = 0; i < large_.size(); ++i)
    if (large_[i].tensor._version() != versions[i]) return large_[i].name;
  return {};
}

void BufferStates::put(const Copies& copies) const {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < small_.size(); ++i) small_[i].copy_(copies[i]);
}

BufferStates::Scope::Scope(const BufferStates& buffers, const Copies& first)
    : buffers_(buffers), before_(buffers.take()) {
  for (const auto& tensor : buffers.small_) versions_.push_back(tensor._version());
  buffers_.put(first);
}

BufferStates::Scope::~Scope() {
  buffers_.put(before_);
  for (std::size_t i = 0; i < versions_.size(); ++i)
    device::set_version(buffers_.small_[i], static_cast<std::uint32_t>(versions_[i]));
}

}  // namespace holdfast::engine
