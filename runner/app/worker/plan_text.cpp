// One row a field of StepPlan, in its order.
#include "app/worker/plan_text.hpp"

#include "base/text.hpp"
#include "engine/ladder.hpp"
#include "engine/loss_scale.hpp"
#include "engine/precision.hpp"

namespace holdfast::app {
namespace {

std::string scaling_text(const LossScaling& scaling) {
  return engine::scale_text(scaling.init_scale) + " at first, " + engine::scale_text(scaling.min_scale) + " to " +
         engine::scale_text(scaling.max_scale);
}

std::string patterns_text(const std::vector<std::string>& patterns) {
  return patterns.empty() ? "none" : base::join(patterns, ", ");
}

std::string offload_text(const StepPlan& plan) {
  const auto least = plan.offload_min_bytes.value;
  return patterns_text(plan.offload.value) + (least > 0 ? ", from " + base::human_bytes(least) : "");
}

}  // namespace

std::vector<PlanRow> plan_rows(const StepPlan& plan, std::int64_t batch_size) {
  const std::int64_t micro = plan.micro_batch_size.value > 0 ? plan.micro_batch_size.value : batch_size;
  const std::int64_t count = (batch_size + micro - 1) / micro;
  std::vector<PlanRow> rows = {
      {"batch_size", std::to_string(batch_size) + " samples", "train.batch_size"},
      {"micro_batch_size", std::to_string(micro) + " samples, " + std::to_string(count) + " an update",
       plan.micro_batch_size.owner},
      {"precision", engine::name_of(plan.precision.value), plan.precision.owner},
      {"recompute", patterns_text(plan.recompute.value), plan.recompute.owner},
      {"offload", offload_text(plan), plan.offload.owner},
      {"optimizer_placement", plan.optimizer_placement.value == Placement::kDevice ? "device" : "host",
       plan.optimizer_placement.owner}};
  if (const auto& scaling = plan.loss_scaling; scaling.owner != "default")
    rows.push_back({"loss_scaling", scaling_text(scaling.value), scaling.owner});
  if (const auto& first = plan.full_precision_updates; first.owner != "default")
    rows.push_back({"full_precision_updates", std::to_string(first.value) + " updates in fp32", first.owner});
  return rows;
}

std::vector<LadderRow> ladder_rows(const engine::TrainerParts& parts, StepPlan plan) {
  engine::Ladder ladder(parts.on_oom);
  std::vector<LadderRow> rows;
  while (true) {
    const StepPlan before = plan;
    const engine::Rung& rung = ladder.climb(plan, {parts.settings.batch_size, parts.model->traits().has_segments, 1});
    rows.push_back({std::string(rung.name), std::string(rung.action),
                    engine::plan_changes(before, plan, parts.settings.batch_size)});
    if (!rung.climb) return rows;
  }
}

std::vector<std::string> split_notes(const Traits& traits) {
  std::vector<std::string> notes;
  if (traits.draws_random)
    notes.emplace_back("the model draws random numbers (dropout): another split of the batch draws others");
  if (traits.batch_coupled)
    notes.emplace_back(
        "the model couples the samples of a micro-batch (batch norm): another split gives other results");
  return notes;
}

std::vector<std::string> inexact_notes(const engine::TrainerParts& parts, const StepPlan& plan) {
  std::vector<std::string> notes;
  for (const auto& [table, strategy] : parts.strategies)
    if (std::string why; !strategy->exact(why)) notes.push_back(table + ": " + why);
  const bool split = plan.micro_batch_size.value > 0 && plan.micro_batch_size.value < parts.settings.batch_size;
  if (split)
    for (auto& note : split_notes(parts.model->traits())) notes.push_back(std::move(note));
  return notes;
}

}  // namespace holdfast::app
