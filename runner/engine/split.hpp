// A window as micro-batches: views of the one batch on the host.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <span>
#include <vector>

#include "holdfast/dataset.hpp"

namespace holdfast::engine {

/// Cuts `window` into micro-batches of `size` samples, the last one with the rest; size 0 or at least the window's:
/// one micro-batch. They are views of `window` (copies on another device) and live until the next call.
class Split {
 public:
  explicit Split(at::Device device) : device_(device) {}
  std::span<const Batch> operator()(const Batch& window, std::int64_t size);

 private:
  at::Device device_;
  std::vector<Batch> parts_;
};

}  // namespace holdfast::engine
