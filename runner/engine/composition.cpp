// Builds the plan and refuses what it cannot mean.
#include "engine/composition.hpp"

#include <string>

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

template <class T>
void check_built(const PlanField<T>& field, const char* what) {
  if (field.owner != "default")
    refuse("plan.not_built", field.owner + " asks for " + what + ", which this release cannot do yet",
           "remove the table");
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
  check_built(plan.recompute, "recomputed segments");
  check_built(plan.offload, "offloaded segments");
  const auto& micro = plan.micro_batch_size;
  if (micro.value < 0 || micro.value > batch_size)
    refuse("plan.micro_batch_size",
           micro.owner + " sets a micro-batch of " + std::to_string(micro.value) + " samples in a batch of " +
               std::to_string(batch_size),
           "a micro-batch has between 1 and train.batch_size samples");
  return plan;
}

}  // namespace holdfast::engine
