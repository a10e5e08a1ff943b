// Which evaluation is the best so far, and when to give up. Knows numbers only.
#pragma once

#include <optional>
#include <string>

#include "engine/trainer.hpp"

namespace holdfast::engine {

struct Ranked {
  bool best = false;
  std::optional<std::string> stop;  ///< early stopping: why
};

/// Judges one evaluation and keeps best and patience in `progress`. A NaN is never an improvement and never the best
/// that later ones must beat. Throws Error 78 when a metric of the recipe is not among the scores.
Ranked rank(const EvalReport& report, const plan::TrainSettings& settings, Progress& progress);

}  // namespace holdfast::engine
