// The activation_offload strategy: what it writes into the plan.
#include "activation_offload/activation_offload.hpp"

#include <doctest/doctest.h>

#include "fixtures/components.hpp"

using namespace holdfast;
using plugins::ActivationOffload;

TEST_CASE("activation_offload hands policy and smallest size to the plan, is exact and wants no phase") {
  test::Lender lender;
  Options options = test::defaults<ActivationOffload>();
  CHECK(options.strings("policy") == std::vector<std::string>{"all"});
  CHECK(options.size("min_bytes").count == 65536);
  options.set("policy", std::vector<std::string>{"every:2"});
  options.set("min_bytes", Bytes{1000});
  ActivationOffload strategy(options, lender.context("strategy.activation_offload"));
  StepPlan plan;
  std::vector<PlanConflict> conflicts;
  PlanEditor editor(plan, "strategy.activation_offload", conflicts);
  strategy.edit(editor);
  CHECK(plan.offload.value == std::vector<std::string>{"every:2"});
  CHECK(plan.offload_min_bytes.value == 1000);
  CHECK(plan.offload_min_bytes.owner == "strategy.activation_offload");
  std::string why;
  CHECK(strategy.exact(why));
  CHECK(strategy.phases() == 0);
  PlanEditor(plan, "strategy.other", conflicts).offload({"all"}, 5);
  CHECK(plan.offload_min_bytes.value == 1000);
  REQUIRE(conflicts.size() == 1);
  CHECK(conflicts[0].field == "offload");
}
