// Named tensors, the currency between data sets, models and the engine.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/error.hpp"

namespace holdfast {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// An ordered list of named tensors; small, so looked up linearly.
class HOLDFAST_VISIBLE NamedTensors : public std::vector<NamedTensor> {
 public:
  using std::vector<NamedTensor>::vector;
  [[nodiscard]] const at::Tensor* find(std::string_view name) const {
    for (const auto& entry : *this)
      if (entry.name == name) return &entry.tensor;
    return nullptr;
  }
  /// The tensor of that name; throws Error(70) naming what is there.
  [[nodiscard]] const at::Tensor& get(std::string_view name) const {
    if (const at::Tensor* found = find(name)) return *found;
    std::string have;
    for (const auto& entry : *this) have += (have.empty() ? "" : ", ") + entry.name;
    throw Error(ExitCode::kBug, "tensor.missing", "", "no tensor named '" + std::string(name) + "' among: " + have);
  }
};

}  // namespace holdfast
