// What strategies do beyond the plan, phase by phase, as rows of text. Pure.
#pragma once

#include <vector>

#include "app/worker/plan_text.hpp"

namespace holdfast::app {

/// One row a strategy that opens scopes, transforms the loss or judges gradients; and the engine's own scopes that the
/// plan asks for. In a row: phases from the outside in, what happens there, whose.
std::vector<PlanRow> scope_rows(const engine::TrainerParts& parts, const StepPlan& plan);

/// "draws random numbers", "couples the samples of a micro-batch", "marks segments": those that are true.
std::vector<std::string> trait_texts(const Traits& traits);

}  // namespace holdfast::app
