#include "app/worker/scope_text.hpp"

#include <doctest/doctest.h>

using namespace holdfast;

namespace {

struct Busy : Strategy {
  unsigned phases() const override { return phase_bit(Phase::kMicroBatch) | phase_bit(Phase::kUpdate); }
  bool transforms_loss() const override { return true; }
  bool judges_gradients() const override { return true; }
};

std::vector<std::string> lines(const std::vector<app::PlanRow>& rows) {
  std::vector<std::string> all;
  for (const auto& row : rows) all.push_back(row.field + ": " + row.value + ", " + row.owner);
  return all;
}

}  // namespace

TEST_CASE("what strategies and the plan do in each phase, from the outside in") {
  Busy busy;
  engine::TrainerParts parts;
  CHECK(app::scope_rows(parts, {}).empty());
  parts.strategies = {{"strategy.busy", &busy}};
  StepPlan plan;
  std::vector<PlanConflict> conflicts;
  PlanEditor editor(plan, "strategy.all", conflicts);
  editor.precision(Precision::kBfloat16);
  editor.offload({"all"});
  editor.recompute({"all"});
  CHECK(lines(app::scope_rows(parts, plan)) ==
        std::vector<std::string>{"micro_batch: opens a scope, strategy.busy", "forward: computes in bf16, strategy.all",
                                 "forward: sends saved tensors to the host, strategy.all",
                                 "forward: transforms the loss, strategy.busy",
                                 "backward: runs segments again, strategy.all", "update: opens a scope, strategy.busy",
                                 "update: judges the gradients, strategy.busy"});
}

TEST_CASE("traits in words, those that are true") {
  CHECK(app::trait_texts({}).empty());
  CHECK(app::trait_texts({true, true, true}) ==
        std::vector<std::string>{"draws random numbers", "couples the samples of a micro-batch", "marks segments"});
}
