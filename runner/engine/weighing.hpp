// The units of batches, as the model counts them.
#pragma once

#include <span>
#include <string_view>

#include "holdfast/model.hpp"

namespace holdfast::engine {

/// Sum of `weight()` over the batches that hold samples. Throws Error 65 for a bad label or the like, with the data
/// set's table ("dataset.train") before the model's words; 70 for a result that is no number of units.
double weigh(const Model& model, std::span<const Batch> batches, std::string_view table);

}  // namespace holdfast::engine
