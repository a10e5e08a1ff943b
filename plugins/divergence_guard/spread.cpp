// Two selections, no sort.
#include "spread.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace holdfast::plugins {
namespace {

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

}  // namespace

Spread spread_of(const std::vector<double>& values) {
  constexpr double kNormal = 1.4826, kLeastShare = 0.01;
  std::vector<double> scratch = values;
  Spread spread;
  spread.median = median_of(scratch);
  for (double& value : scratch) value = std::abs(value - spread.median);
  spread.unit = std::max(
      {kNormal * median_of(scratch), kLeastShare * std::abs(spread.median), std::numeric_limits<double>::min()});
  return spread;
}

}  // namespace holdfast::plugins
