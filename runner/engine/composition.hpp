// From strategies to the StepPlan: every field with one owner, every conflict told at once.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/trainer.hpp"
#include "holdfast/step_plan.hpp"

namespace holdfast::engine {

/// Lets each strategy edit a default plan. Throws Error 78 with all conflicts (field and both owners), and for choices
/// that this release cannot carry out.
StepPlan compose(const std::vector<NamedStrategy>& strategies, std::int64_t batch_size);

/// Error 78 when an entry of the plan chooses no segments, or it wants segments of a model that has none.
void require_segments(const StepPlan& plan, const Traits& traits);

}  // namespace holdfast::engine
