// Builds the plan and refuses what it cannot mean.
#include "engine/composition.hpp"

#include <string>

#include "engine/selection.hpp"

namespace holdfast::engine {
namespace {

[[noreturn]] void refuse(const std::string& reason, const std::string& what, const std::string& hint) {
  throw Error(ExitCode::kBadRecipe, reason, "strategy", what, hint);
}

void check_conflicts(const std::vector<PlanConflict>& conflicts) {
  if (conflicts.empty()) return;
  std::string text;
  for (const auto& conflict : conflicts)
    text += (text.empty() ? "" : "; ") +
            ("'" + conflict.field + "' is set by " + conflict.first_owner + " and by " + conflict.second_owner);
  refuse("plan.conflict", text, "set enabled = false in one of the two tables");
}

}  // namespace

StepPlan compose(const std::vector<NamedStrategy>& strategies, std::int64_t batch_size) {
  StepPlan plan;
  std::vector<PlanConflict> conflicts;
  for (const auto& [table, strategy] : strategies) {
    PlanEditor editor(plan, table, conflicts);
    editor.set_batch_size(batch_size);
    strategy->edit(editor);
  }
  check_conflicts(conflicts);
  const auto& micro = plan.micro_batch_size;
  if (micro.value < 0 || micro.value > batch_size)
    refuse("plan.micro_batch_size",
           micro.owner + " sets a micro-batch of " + std::to_string(micro.value) + " samples in a batch of " +
               std::to_string(batch_size),
           "a micro-batch has between 1 and train.batch_size samples");
  return plan;
}

void require_segments(const StepPlan& plan, const Traits& traits) {
  const Selection recompute(plan.recompute.owner, "recompute", plan.recompute.value);
  const Selection offload(plan.offload.owner, "offload", plan.offload.value);
  if (traits.has_segments) return;
  const auto require = [](const PlanField<std::vector<std::string>>& field, const std::string& does) {
    refuse("plan.no_segments", field.owner + " " + does + " segments of the model, but the model marks none",
           "remove the table, or mark segments in the model's forward (Segments::run in holdfast/model.hpp)");
  };
  if (!recompute.empty()) require(plan.recompute, "recomputes");
  if (!offload.empty() && !offload.everything()) require(plan.offload, "offloads");
}

}  // namespace holdfast::engine
