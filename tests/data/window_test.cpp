// Windows of an epoch, ragged ends and positions after a resume.
#include "data/window.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace holdfast::data;

TEST_CASE("C02: ten samples in windows of four make three windows, the last of two") {
  const WindowPlan plan(10, 4, false);
  CHECK(plan.windows_per_epoch() == 3);
  CHECK(plan.dropped_per_epoch() == 0);
  CHECK(plan.at(2).first == 8);
  CHECK(plan.at(2).count == 2);
  CHECK(plan.at(2).epoch_end);
  CHECK_FALSE(plan.at(1).epoch_end);
  CHECK(plan.at(3).epoch == 1);
  CHECK(plan.at(3).first == 0);
}

TEST_CASE("C02: drop_last leaves the incomplete window out and counts its samples") {
  const WindowPlan plan(10, 4, true);
  CHECK(plan.windows_per_epoch() == 2);
  CHECK(plan.dropped_per_epoch() == 2);
  CHECK(plan.at(1).epoch_end);
  CHECK(plan.at(1).count == 4);
}

TEST_CASE("the windows of a shuffled epoch hold every sample once") {
  const WindowPlan plan(103, 8, false);
  std::set<std::int64_t> seen;
  for (std::int64_t w = 0; w < plan.windows_per_epoch(); ++w)
    for (const auto index : indices_of(plan.at(w), 103, true, 9)) CHECK(seen.insert(index).second);
  CHECK(seen.size() == 103);
}

TEST_CASE("without shuffling the file's order is kept in every epoch") {
  const WindowPlan plan(5, 2, false);
  CHECK(indices_of(plan.at(1), 5, false, 9) == std::vector<std::int64_t>{2, 3});
  CHECK(indices_of(plan.at(5), 5, false, 9) == std::vector<std::int64_t>{4});
}
