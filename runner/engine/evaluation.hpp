// One pass over the eval set: no gradients, evaluation mode, and everything put back afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/loader.hpp"
#include "engine/trainer.hpp"
#include "holdfast/model.hpp"

namespace holdfast::engine {

struct EvaluationSettings {
  LoaderSettings loader;
  std::uint64_t seed = 0;
  std::int64_t update = 0;                ///< applied updates, for seeding and reports
  std::optional<at::ScalarType> dtype{};  ///< that autocast computes forward and loss in; none: off
};

/// Scores over the whole data set, "loss" (mean over units) first. Each module's own training flag and the grad mode
/// are restored, by success or exception. `settle` deals with corrupt samples of a batch before the model sees it.
/// Empty when `stop` (may be null) was raised before a batch: the rest is left out.
/// Throws Error 81 when the device's memory runs out, 70 for other exceptions of the model, naming the batch.
std::optional<std::vector<std::pair<std::string, double>>> evaluate(Model& model, const Dataset& dataset,
                                                                    const EvaluationSettings& settings,
                                                                    const std::function<void(LoadedWindow&)>& settle,
                                                                    const StopFlag* stop);

}  // namespace holdfast::engine
