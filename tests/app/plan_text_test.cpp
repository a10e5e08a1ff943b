#include "app/worker/plan_text.hpp"

#include <doctest/doctest.h>

using namespace holdfast;

TEST_CASE("a plan's rows tell value and owner, the ragged last micro-batch counted") {
  StepPlan plan;
  std::vector<PlanConflict> conflicts;
  PlanEditor(plan, "strategy.accumulate", conflicts).micro_batch_size(10);
  const auto rows = app::plan_rows(plan, 64);
  REQUIRE(rows.size() == 6);
  CHECK(rows[0].value == "64 samples");
  CHECK(rows[1].value == "10 samples, 7 an update");
  CHECK(rows[1].owner == "strategy.accumulate");
  CHECK(rows[2].owner == "default");
}
