// What must match for a saved state to be continued, and how two of them differ.
#pragma once

#include <string>
#include <vector>

#include "engine/trainer.hpp"

namespace holdfast::engine {

/// JSON: names, dtypes and shapes of the model's tensors, which of them train, whether SGD keeps a momentum,
/// fingerprint, size and order of the training data, seed, batch size, optimizer. Reads the data set's fingerprint,
/// which may take time.
std::string identity_json(const TrainerParts& parts, const NamedTensors& model_tensors);

/// One clause per differing key: "seed: saved 1, now 2". Empty when equal. Throws Error 66 at `where` when `saved` is
/// not JSON.
std::vector<std::string> identity_differences(const std::string& saved, const std::string& now,
                                              const std::string& where);

}  // namespace holdfast::engine
