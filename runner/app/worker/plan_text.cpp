// One row a field of StepPlan, in its order.
#include "app/worker/plan_text.hpp"

#include "base/text.hpp"

namespace holdfast::app {
namespace {

std::string precision_text(Precision precision) {
  return precision == Precision::kFull ? "fp32" : precision == Precision::kBfloat16 ? "bf16" : "fp16";
}

std::string patterns_text(const std::vector<std::string>& patterns) {
  return patterns.empty() ? "none" : base::join(patterns, ", ");
}

}  // namespace

std::vector<PlanRow> plan_rows(const StepPlan& plan, std::int64_t batch_size) {
  const std::int64_t micro = plan.micro_batch_size.value > 0 ? plan.micro_batch_size.value : batch_size;
  const std::int64_t count = (batch_size + micro - 1) / micro;
  return {{"batch_size", std::to_string(batch_size) + " samples", "train.batch_size"},
          {"micro_batch_size", std::to_string(micro) + " samples, " + std::to_string(count) + " an update",
           plan.micro_batch_size.owner},
          {"precision", precision_text(plan.precision.value), plan.precision.owner},
          {"recompute", patterns_text(plan.recompute.value), plan.recompute.owner},
          {"offload", patterns_text(plan.offload.value), plan.offload.owner},
          {"optimizer_placement", plan.optimizer_placement.value == Placement::kDevice ? "device" : "host",
           plan.optimizer_placement.owner}};
}

std::vector<std::string> inexact_notes(const engine::TrainerParts& parts, const StepPlan& plan) {
  std::vector<std::string> notes;
  for (const auto& [table, strategy] : parts.strategies)
    if (std::string why; !strategy->exact(why)) notes.push_back(table + ": " + why);
  const bool split = plan.micro_batch_size.value > 0 && plan.micro_batch_size.value < parts.settings.batch_size;
  const Traits traits = parts.model->traits();
  if (split && traits.draws_random)
    notes.emplace_back("the model draws random numbers (dropout): another split of the batch draws others");
  if (split && traits.batch_coupled)
    notes.emplace_back(
        "the model couples the samples of a micro-batch (batch norm): another split gives other results");
  return notes;
}

}  // namespace holdfast::app
