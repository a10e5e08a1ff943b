// Whether a model made for the training data can be evaluated on the eval data. Reads no sample.
#pragma once

#include "holdfast/component.hpp"

namespace holdfast::engine {

/// Every field of the training data must be there with the same dtype and shape, and with no more classes.
/// Throws Error 65 [eval.mismatch] naming the field and both sides.
void require_agreement(const DataFacts& train, const DataFacts& eval);

}  // namespace holdfast::engine
