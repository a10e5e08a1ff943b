// One picture of curves over updates: SVG that stretches with the page, labels in HTML that do not. Private to this
// folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/quantity.hpp"
#include "report/series.hpp"

namespace holdfast::report {

enum class Look { kFirst, kSecond, kThird };  ///< colours of the style sheet

struct Curve {
  std::string name;
  const Series* series = nullptr;
  Look look = Look::kFirst;
  bool dots = false;    ///< few measurements: a dot each, joined by a line
  bool smooth = false;  ///< many: pale, with a moving average above
};

struct ChartMark {
  double x = 0;
  std::string kind;   ///< class of the style sheet: "attempt", "oom", "plan", "dropped"
  std::string label;  ///< beside the mark; may be empty
  std::string text;   ///< told when pointed at
};

struct Chart {
  std::string title, note;
  Unit unit = Unit::kNumber;
  std::vector<Curve> curves;
  std::vector<ChartMark> marks;
  std::optional<double> limit;  ///< a dashed line, part of the range
  std::string limit_name;
  bool from_zero = false;
  bool wide = false;  ///< takes the page's whole width
};

/// The figure element; `first` and `last` are the ends of the axis of updates. Empty when no curve has a point.
std::string draw(const Chart& chart, double first, double last);

/// Kinds of marks that charts may carry, with what the legend calls them.
std::string_view mark_name(std::string_view kind);

}  // namespace holdfast::report
