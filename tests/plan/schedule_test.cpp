// The learning rate is a pure function of applied updates.
#include <doctest/doctest.h>

#include "plan/settings.hpp"

using namespace holdfast::plan;

TEST_CASE("C04: a linear schedule over 12 updates gives 1 - k/12 at update k, whatever the micro-batch") {
  OptimizerSettings optimizer;
  optimizer.lr = 1.0;
  ScheduleSettings schedule;
  schedule.name = ScheduleSettings::Name::kLinear;
  for (int k = 1; k <= 12; ++k) CHECK(learning_rate(optimizer, schedule, k, 12) == doctest::Approx(1.0 - k / 12.0));
}

TEST_CASE("warm-up rises linearly to lr and the cosine ends at min_lr") {
  OptimizerSettings optimizer;
  optimizer.lr = 0.2;
  ScheduleSettings schedule{ScheduleSettings::Name::kCosine, 10, 0.02};
  CHECK(learning_rate(optimizer, schedule, 1, 110) == doctest::Approx(0.02));
  CHECK(learning_rate(optimizer, schedule, 10, 110) == doctest::Approx(0.2));
  CHECK(learning_rate(optimizer, schedule, 60, 110) == doctest::Approx(0.11));
  CHECK(learning_rate(optimizer, schedule, 110, 110) == doctest::Approx(0.02));
  CHECK(learning_rate(optimizer, schedule, 500, 110) == doctest::Approx(0.02));
}
