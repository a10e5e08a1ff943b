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
#include "holdfast/step_plan.hpp"

namespace holdfast::engine {

struct EvaluationSettings {
  LoaderSettings loader;
  std::uint64_t seed = 0;
  std::int64_t update = 0;                ///< applied updates, for seeding and reports
  std::optional<at::ScalarType> dtype{};  ///< that autocast computes forward and loss in; none: off
};

/// What an evaluation leaves to its caller.
struct EvaluationCalls {
  std::function<void(LoadedWindow&)> settle;  ///< deals with corrupt samples of a batch before the model sees it
  /// The device's memory ran out in a batch of so many samples. Edits the plan, and the batch is evaluated again, or
  /// throws.
  std::function<void(OomReport&, std::int64_t samples)> recover;
};

/// Scores over the whole data set, "loss" (mean over units) first. Each module's own training flag and the grad mode
/// are restored, by success or exception. The model sees at most `plan.micro_batch_size` samples at once: another split
/// of a batch gives the same scores up to summation order.
/// Empty when `stop` (may be null) was raised before a batch: the rest is left out.
/// Throws Error 88 when the host's memory runs out, 70 for other exceptions of the model, naming the batch.
std::optional<std::vector<std::pair<std::string, double>>> evaluate(Model& model, const Dataset& dataset,
                                                                    const EvaluationSettings& settings,
                                                                    const StepPlan& plan, const EvaluationCalls& calls,
                                                                    const StopFlag* stop);

}  // namespace holdfast::engine
