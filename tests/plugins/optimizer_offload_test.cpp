// The optimizer_offload strategy: the one field that it writes into the plan.
#include "optimizer_offload/optimizer_offload.hpp"

#include <doctest/doctest.h>

#include "fixtures/components.hpp"

TEST_CASE("optimizer_offload puts the moments on the host, is exact and opens no scopes") {
  holdfast::test::Lender lender;
  holdfast::plugins::OptimizerOffload strategy({}, lender.context("strategy.optimizer_offload"));
  holdfast::StepPlan plan;
  std::vector<holdfast::PlanConflict> conflicts;
  holdfast::PlanEditor editor(plan, "strategy.optimizer_offload", conflicts);
  strategy.edit(editor);
  CHECK(conflicts.empty());
  CHECK(plan.optimizer_placement.value == holdfast::Placement::kHost);
  CHECK(plan.optimizer_placement.owner == "strategy.optimizer_offload");
  std::string why;
  CHECK(strategy.exact(why));
  CHECK(strategy.phases() == 0);
}
