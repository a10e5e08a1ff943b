// Phases in the order in which they nest: attempt > micro_batch > forward / backward, then update.
#include "app/worker/scope_text.hpp"

#include <array>
#include <utility>

#include "engine/precision.hpp"

namespace holdfast::app {
namespace {

constexpr std::array<std::pair<Phase, const char*>, 5> kPhases = {{{Phase::kAttempt, "attempt"},
                                                                   {Phase::kMicroBatch, "micro_batch"},
                                                                   {Phase::kForward, "forward"},
                                                                   {Phase::kBackward, "backward"},
                                                                   {Phase::kUpdate, "update"}}};

}  // namespace

std::vector<PlanRow> scope_rows(const engine::TrainerParts& parts, const StepPlan& plan) {
  std::vector<PlanRow> rows;
  for (const auto& [phase, name] : kPhases) {
    if (phase == Phase::kForward && plan.precision.value != Precision::kFull)
      rows.push_back({name, std::string("computes in ") + engine::name_of(plan.precision.value), plan.precision.owner});
    if (phase == Phase::kForward && !plan.offload.value.empty())
      rows.push_back({name, "sends saved tensors to the host", plan.offload.owner});
    if (phase == Phase::kBackward && !plan.recompute.value.empty())
      rows.push_back({name, "runs segments again", plan.recompute.owner});
    for (const auto& [table, strategy] : parts.strategies) {
      if (strategy->phases() & phase_bit(phase)) rows.push_back({name, "opens a scope", table});
      if (phase == Phase::kForward && strategy->transforms_loss()) rows.push_back({name, "transforms the loss", table});
      if (phase == Phase::kUpdate && strategy->judges_gradients())
        rows.push_back({name, "judges the gradients", table});
    }
  }
  return rows;
}

std::vector<std::string> trait_texts(const Traits& traits) {
  std::vector<std::string> texts;
  if (traits.draws_random) texts.emplace_back("draws random numbers");
  if (traits.batch_coupled) texts.emplace_back("couples the samples of a micro-batch");
  if (traits.has_segments) texts.emplace_back("marks segments");
  return texts;
}

}  // namespace holdfast::app
