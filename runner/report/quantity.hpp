// Figures and axes: what a value is called, and where its ticks lie. Pure. Private to this folder.
#pragma once

#include <string>
#include <vector>

namespace holdfast::report {

enum class Unit { kNumber, kSeconds, kBytes, kPerSecond, kShare };

/// "0.1234", "12.3 ms", "1.5 GiB", "840/s", "12 %".
std::string quantity(double value, Unit unit);
/// The unit's word for the script of the page: "number", "seconds", "bytes", "rate", "share".
const char* unit_name(Unit unit);
/// Shortest digits that read back within 1 in 100,000; for data inside the page.
std::string digits(double value);

struct Tick {
  double value = 0;
  std::string label;
};

/// A range with ticks at round values. Never empty: equal ends are moved apart.
struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<Tick> ticks;

  /// Place of a value: 0 at `low`, 1 at `high`; clamped.
  [[nodiscard]] double place(double value) const;
};

/// `wanted` ticks or a few more or less. Logarithmic only where `low` is above 0.
Axis make_axis(double low, double high, int wanted, Unit unit, bool logarithmic);
/// For counts of updates: whole numbers, "1,200".
Axis count_axis(double low, double high, int wanted);

}  // namespace holdfast::report
