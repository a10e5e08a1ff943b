// What changed between two plans, in words and as JSON for a checkpoint. Knows fields, not what carries them out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/step_plan.hpp"

namespace holdfast::engine {

/// A field that differs. `owner`: who chose the value it has now.
struct PlanChange {
  std::string field, before, after, owner;
};

/// `batch_size`: what a micro-batch of 0 samples means.
std::vector<PlanChange> plan_changes(const StepPlan& before, const StepPlan& after, std::int64_t batch_size);

/// "micro_batch_size 32 -> 16, recompute none -> *"
std::string text_of(const std::vector<PlanChange>& changes);

/// The fields that the ladder owns in `plan`, each with the value and owner that it had in `composed`: a JSON object,
/// "{}" when there is none.
std::string plan_edits_json(const StepPlan& composed, const StepPlan& plan);

/// Takes saved edits over into `plan`, which is as composed, field by field: those whose composed value and owner are
/// as they were when saved. Returns a sentence a field of what was taken over, or why not. Whatever in `json` is no
/// edit of a plan of `batch_size` samples is left out.
std::vector<std::string> apply_plan_edits(const std::string& json, StepPlan& plan, std::int64_t batch_size);

}  // namespace holdfast::engine
