// Weights from a safetensors file into a model.
#pragma once

#include <string>

#include "holdfast/model.hpp"

namespace holdfast::app {

/// Fills every parameter and buffer of `model` from the file; names, dtypes and shapes must match exactly, or nothing
/// is changed. Error 66 when the file is absent or bad, 78 naming the first tensor that differs and both sides.
void load_weights(Model& model, const std::string& path);

}  // namespace holdfast::app
