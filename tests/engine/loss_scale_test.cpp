// The state machine of the loss scale, window by window.
#include "engine/loss_scale.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace holdfast;
using engine::LossScale;
using engine::LossScaleState;

namespace {

StepPlan plan_of(LossScaling scaling, Precision precision = Precision::kFloat16, std::int64_t fp32_updates = 0) {
  StepPlan plan;
  plan.precision = {precision, "strategy.amp"};
  plan.loss_scaling = {scaling, "strategy.amp"};
  plan.full_precision_updates = {fp32_updates, "strategy.amp"};
  return plan;
}

LossScaling quick() {
  LossScaling scaling;
  scaling.init_scale = 1024;
  scaling.growth_interval = 3;
  scaling.min_scale = 256;
  scaling.max_scale = 4096;
  return scaling;
}

/// One letter a window: a applied, x overflowed. Returns the scale after each.
std::vector<double> path(LossScale& scale, const std::string& windows) {
  std::vector<double> scales;
  std::int64_t update = 1;
  for (const char window : windows) {
    if (window == 'a') scale.applied(update++);
    if (window == 'x') (void)scale.overflowed(update);
    scales.push_back(scale.at(update));
  }
  return scales;
}

}  // namespace

TEST_CASE("the scale grows after an interval of applied windows in a row, and an overflow halves it and begins anew") {
  const StepPlan plan = plan_of(quick());
  LossScale scale(plan);
  CHECK(scale.at(1) == 1024);
  CHECK(path(scale, "aaaaaxaaa") == std::vector<double>{1024, 1024, 2048, 2048, 2048, 1024, 1024, 1024, 2048});
  CHECK((scale.state() == LossScaleState{2048, 0, 1, 0}));
}

TEST_CASE("the scale stays between floor and ceiling") {
  const StepPlan plan = plan_of(quick());
  LossScale up(plan), down(plan);
  CHECK(path(up, "aaaaaaaaaaaa").back() == 4096);
  CHECK(path(down, "xxxx") == std::vector<double>{512, 256, 256, 256});
  CHECK((down.state() == LossScaleState{256, 0, 4, 2}));
  down.applied(1);
  CHECK(down.state()->skipped_at_floor == 0);
}

TEST_CASE("what is told of an overflow names the scale to come, or that it can fall no further") {
  const StepPlan plan = plan_of(quick());
  LossScale scale(plan);
  CHECK(scale.overflowed(1) == "; the loss scale is now 512");
  CHECK(scale.overflowed(1) == "; the loss scale is now 256");
  CHECK(scale.overflowed(1) == "; the loss scale is 256, its minimum");
}

TEST_CASE("fifty windows dropped in a row at the floor end the run; one fewer does not") {
  const StepPlan plan = plan_of(quick());
  LossScale scale(plan);
  (void)path(scale, "xx" + std::string(49, 'x'));
  CHECK_NOTHROW(scale.check_floor(7));
  (void)scale.overflowed(8);
  try {
    scale.check_floor(7);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDiverged);
    CHECK(
        std::string(error.what()) ==
        "update 7: error[run.loss_scale]: the last 50 windows had a loss or gradient that is not finite, with the loss "
        "scale at its minimum of 256\n"
        "  hint: lower optimizer.lr, set dtype = \"bf16\" in [strategy.amp], or look for NaN in the data");
  }
}

TEST_CASE("neither bf16, fp32 nor the first updates in fp32 scale, and their windows do not move the scale") {
  for (const Precision precision : {Precision::kFull, Precision::kBfloat16}) {
    const StepPlan plan = plan_of(quick(), precision);
    LossScale scale(plan);
    CHECK(path(scale, "axa") == std::vector<double>{1, 1, 1});
    CHECK(scale.overflowed(1).empty());
    CHECK_FALSE(scale.state().has_value());
  }
  const StepPlan plan = plan_of(quick(), Precision::kFloat16, 4);
  LossScale scale(plan);
  CHECK(path(scale, "axaaa") == std::vector<double>{1, 1, 1, 1, 1024});
  CHECK((scale.state() == LossScaleState{1024, 0, 0, 0}));
}

TEST_CASE("a saved scale comes back, moved into the bounds of the recipe; without one it begins anew") {
  const StepPlan plan = plan_of(quick());
  LossScale scale(plan);
  scale.restore(LossScaleState{512, 2, 9, 0});
  CHECK((scale.state() == LossScaleState{512, 2, 9, 0}));
  scale.restore(LossScaleState{1e30, 2, 9, 0});
  CHECK(scale.state()->scale == 4096);
  scale.restore(LossScaleState{1e-30, 2, 9, 0});
  CHECK(scale.state()->scale == 256);
  scale.restore(std::nullopt);
  CHECK((scale.state() == LossScaleState{1024, 0, 0, 0}));
}

TEST_CASE("C14: with an interval of 1, 150 applied updates end at the ceiling, not at infinity") {
  LossScaling scaling;
  scaling.growth_interval = 1;
  const StepPlan plan = plan_of(scaling);
  LossScale scale(plan);
  CHECK(path(scale, std::string(150, 'a')).back() == 16777216);
  scaling.max_scale = 1e30;
  const StepPlan high = plan_of(scaling);
  LossScale far(high);
  CHECK(path(far, std::string(150, 'a')).back() == 1e30);
}
