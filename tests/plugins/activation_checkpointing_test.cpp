// The activation_checkpointing strategy: what it writes into the plan.
#include "activation_checkpointing/activation_checkpointing.hpp"

#include <doctest/doctest.h>

#include "fixtures/components.hpp"

using namespace holdfast;
using plugins::ActivationCheckpointing;

TEST_CASE("activation_checkpointing hands its policy to the plan, is exact and wants no phase") {
  test::Lender lender;
  Options options = test::defaults<ActivationCheckpointing>();
  CHECK(options.strings("policy") == std::vector<std::string>{"all"});
  options.set("policy", std::vector<std::string>{"block.*", "largest:2"});
  ActivationCheckpointing strategy(options, lender.context("strategy.activation_checkpointing"));
  StepPlan plan;
  std::vector<PlanConflict> conflicts;
  PlanEditor editor(plan, "strategy.activation_checkpointing", conflicts);
  strategy.edit(editor);
  CHECK(plan.recompute.value == std::vector<std::string>{"block.*", "largest:2"});
  CHECK(plan.recompute.owner == "strategy.activation_checkpointing");
  std::string why;
  CHECK(strategy.exact(why));
  CHECK(strategy.phases() == 0);
}
