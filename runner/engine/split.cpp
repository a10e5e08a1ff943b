// Micro-batches by narrowing.
#include "engine/split.hpp"

#include <ATen/ATen.h>

#include <algorithm>

namespace holdfast::engine {

std::span<const Batch> Split::operator()(const Batch& window, std::int64_t size) {
  const auto count = static_cast<std::int64_t>(window.samples.size());
  if (size <= 0 || size > count) size = count;
  if (size == count && device_.is_cpu()) return {&window, 1};
  parts_.clear();
  for (std::int64_t first = 0; first < count; first += size) {
    const std::int64_t rows = std::min(size, count - first);
    Batch& part = parts_.emplace_back();
    part.samples.assign(window.samples.begin() + first, window.samples.begin() + first + rows);
    for (const auto& [name, tensor] : window.fields)
      part.fields.push_back({name, tensor.narrow(0, first, rows).to(device_)});
  }
  return parts_;
}

}  // namespace holdfast::engine
