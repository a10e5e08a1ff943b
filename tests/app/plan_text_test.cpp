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
  CHECK(rows[3].value == "none");
  CHECK(rows[4].value == "none");
}

TEST_CASE("segments that are traded stand as their policies, offloading with its smallest tensor") {
  StepPlan plan;
  std::vector<PlanConflict> conflicts;
  PlanEditor(plan, "strategy.a", conflicts).recompute({"every:2", "head"});
  PlanEditor(plan, "strategy.b", conflicts).offload({"all"}, 65536);
  const auto rows = app::plan_rows(plan, 64);
  CHECK(rows[3].value == "every:2, head");
  CHECK(rows[3].owner == "strategy.a");
  CHECK(rows[4].value == "all, from 64.0 KiB");
  CHECK(rows[4].owner == "strategy.b");
}

TEST_CASE("the loss scale and the first updates in fp32 have rows of their own once somebody sets them") {
  StepPlan plan;
  std::vector<PlanConflict> conflicts;
  PlanEditor editor(plan, "strategy.amp", conflicts);
  editor.precision(Precision::kFloat16);
  editor.loss_scaling({});
  editor.full_precision_updates(10);
  const auto rows = app::plan_rows(plan, 64);
  REQUIRE(rows.size() == 8);
  CHECK(rows[2].value == "fp16");
  CHECK(rows[6].field == "loss_scaling");
  CHECK(rows[6].value == "65536 at first, 1 to 16777216");
  CHECK(rows[6].owner == "strategy.amp");
  CHECK(rows[7].value == "10 updates in fp32");
}
