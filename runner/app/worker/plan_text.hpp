// A StepPlan as rows of text. Pure.
#pragma once

#include <string>
#include <vector>

#include "engine/trainer.hpp"

namespace holdfast::app {

struct PlanRow {
  std::string field, value, owner;
};

/// One row a field of the plan; those of the loss scale and of the first updates only where somebody set them.
std::vector<PlanRow> plan_rows(const StepPlan& plan, std::int64_t batch_size);

/// What is tried when memory runs out again and again in one window, in order. `changes` of the plan by this rung.
struct LadderRow {
  std::string rung, action;
  std::vector<engine::PlanChange> changes;
};
std::vector<LadderRow> ladder_rows(const engine::TrainerParts& parts, StepPlan plan);

/// Why the updates may differ from the plain step's: strategies that say so, and splits of a model that draws random
/// numbers or couples samples. Empty when all is exact.
std::vector<std::string> inexact_notes(const engine::TrainerParts& parts, const StepPlan& plan);

/// The same for updates after a rung that halves micro-batches; empty where that changes no more than the order of
/// sums.
std::vector<std::string> split_notes(const Traits& traits);

}  // namespace holdfast::app
