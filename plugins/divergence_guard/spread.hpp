// How far a number lies above others, measured so that single outliers among them do not matter.
#pragma once

#include <vector>

namespace holdfast::plugins {

struct Spread {
  double median = 0;
  double unit = 0;  ///< what one spread is; above 0
  /// Negative below the median.
  [[nodiscard]] double above(double value) const { return (value - median) / unit; }
};

/// Median, and 1.4826 x the median of absolute deviations from it: for normal noise that is the standard deviation
/// (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", 1993). At least 1 % of the median, so that a loss which
/// lies still does not make every ripple a spike. `values` must not be empty; all finite.
Spread spread_of(const std::vector<double>& values);

}  // namespace holdfast::plugins
