// Tensors as the checkpoint store sees them, and back.
#pragma once

#include <string>
#include <vector>

#include "base/state_view.hpp"
#include "holdfast/tensor.hpp"

namespace holdfast::engine {

/// The safetensors name of a dtype ("F32"). Throws Error 70 for one that safetensors does not have.
std::string dtype_name(at::ScalarType dtype);

/// Views of the tensors' bytes. Tensors that are not contiguous on the host are copied: all of them now, so that views
/// stay what they are whatever becomes of the tensors, or each when it is read. `kept` holds what views point to.
enum class Copies { kNow, kWhenRead };
std::vector<base::TensorView> views_of(const NamedTensors& tensors, std::vector<at::Tensor>& kept,
                                       Copies copies = Copies::kNow);

/// Copies of saved tensors, by name. Throws Error 66 at `where` for an unknown dtype or a byte count that contradicts
/// the shape.
NamedTensors tensors_of(const std::vector<base::TensorView>& views, const std::string& where);

}  // namespace holdfast::engine
