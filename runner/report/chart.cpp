// The SVG has 1000 x 1000 units and no aspect ratio: strokes do not scale with it, and dots are strokes of no length.
#include "report/chart.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "report/html.hpp"

namespace holdfast::report {
namespace {

constexpr double kSide = 1000;
constexpr double kLogarithmicFrom = 12;  ///< highest over lowest value
constexpr std::size_t kSmoothFrom = 40;  ///< points; fewer are drawn as they are
constexpr double kLabelRoom = 0.09;      ///< of the width, between two labels of marks
constexpr std::array<const char*, 3> kLooks = {"a", "b", "c"};

const char* look(const Curve& curve) { return kLooks[static_cast<std::size_t>(curve.look)]; }

std::string fixed(double value, int precision = 1) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, precision);
  return {text.data(), end.ptr};
}

std::string percent(double share) { return fixed(share * 100, 2) + "%"; }

struct Frame {
  Axis x, y;
  [[nodiscard]] std::string point(double at, double value) const {
    return fixed(x.place(at) * kSide) + " " + fixed((1 - y.place(value)) * kSide);
  }
};

/// The values that decide the axis: a few wild ones do not flatten the rest, they leave the picture.
std::pair<double, double> range_of(const Chart& chart) {
  std::vector<double> values;
  for (const Curve& curve : chart.curves)
    for (const Point& point : curve.series->points()) values.push_back(point.y);
  std::sort(values.begin(), values.end());
  const std::size_t cut = values.size() / 200;
  double low = values[cut], high = values[values.size() - 1 - cut];
  if (chart.limit) low = std::min(low, *chart.limit), high = std::max(high, *chart.limit);
  return {low, high};
}

Axis vertical_axis(const Chart& chart) {
  auto [low, high] = range_of(chart);
  if (chart.from_zero) return make_axis(0, high > 0 ? high * 1.08 : 1, 4, chart.unit, false);
  if (low > 0 && high / low > kLogarithmicFrom) return make_axis(low / 1.15, high * 1.15, 4, chart.unit, true);
  const double room = (high - low) * 0.06;
  return make_axis(low >= 0 ? std::max(0.0, low - room) : low - room, high + room, 4, chart.unit, false);
}

/// Attempts stand apart where they overlap; of few measurements (`joined`) only those that go back.
std::string path_of(const Series& series, const Frame& frame, bool joined = false) {
  std::string path;
  const Point* before = nullptr;
  for (const Point& point : series.points()) {
    const bool goes_on = before && (joined ? point.x >= before->x : point.attempt == before->attempt);
    path += (goes_on ? "L" : "M") + frame.point(point.x, point.y);
    before = &point;
  }
  return path;
}

std::string path_element(const std::string& classes, const std::string& path) {
  return "<path class=\"" + classes + "\" d=\"" + path + "\"/>";
}

std::string curve_elements(const Curve& curve, const Frame& frame) {
  const auto& points = curve.series->points();
  const std::string name = look(curve);
  std::string out;
  if (curve.smooth && points.size() >= kSmoothFrom) {
    out += path_element("line pale " + name, path_of(*curve.series, frame));
    out +=
        path_element("line " + name, path_of(smoothed(*curve.series, static_cast<double>(points.size()) / 60), frame));
  } else {
    out += path_element("line " + name, path_of(*curve.series, frame, curve.dots));
  }
  if (!curve.dots && points.size() > 1) return out;
  std::string dots;
  for (const Point& point : points) dots += "M" + frame.point(point.x, point.y) + "h0";
  return out + path_element("dots " + name, dots);
}

std::string grid(const Frame& frame) {
  std::string lines;
  for (const Tick& tick : frame.y.ticks) {
    const std::string at = fixed((1 - frame.y.place(tick.value)) * kSide);
    lines += "M0 " + at + "H1000";
  }
  return path_element("grid", lines);
}

std::string svg(const Chart& chart, const Frame& frame) {
  std::string out = "<svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"" +
                    html(chart.title) + "\">" + grid(frame);
  if (chart.limit) {
    const std::string at = fixed((1 - frame.y.place(*chart.limit)) * kSide);
    out += path_element("limit", "M0 " + at + "H1000");
  }
  for (const Curve& curve : chart.curves) out += curve_elements(curve, frame);
  return out + "</svg>";
}

std::string axis_labels(const Frame& frame) {
  std::string out = "<div class=\"y\">";
  for (const Tick& tick : frame.y.ticks)
    out += "<span style=\"bottom:" + percent(frame.y.place(tick.value)) + "\">" + html(tick.label) + "</span>";
  out += "</div><div class=\"x\">";
  for (const Tick& tick : frame.x.ticks)
    out += std::string("<span") + (frame.x.place(tick.value) > 0.97 ? " class=\"end\"" : "") +
           " style=\"left:" + percent(frame.x.place(tick.value)) + "\">" + html(tick.label) + "</span>";
  return out + "</div>";
}

std::string mark_elements(const Chart& chart, const Frame& frame) {
  std::string out;
  double labelled = -1;
  for (const ChartMark& mark : chart.marks) {
    const double place = frame.x.place(mark.x);
    out += "<i class=\"mark " + mark.kind + "\" style=\"left:" + percent(place) + "\"";
    out += (chart.wide || mark.kind != "attempt" ? " title=\"" + html(mark.text) + "\"" : "") + ">";
    if (!mark.label.empty() && place - labelled >= kLabelRoom) {
      out += "<b>" + html(mark.label) + "</b>";
      labelled = place;
    }
    out += "</i>";
  }
  return out;
}

std::string legend(const Chart& chart) {
  if (!chart.wide && chart.curves.size() == 1) return {};  // its title says it, and marks are named on the wide ones
  std::string out = "<ul class=\"key\">";
  for (const Curve& curve : chart.curves)
    if (!curve.series->empty()) out += "<li class=\"" + std::string(look(curve)) + "\">" + html(curve.name) + "</li>";
  if (chart.limit) out += "<li class=\"of-limit\">" + html(chart.limit_name) + "</li>";
  std::set<std::string> kinds;
  for (const ChartMark& mark : chart.marks)
    if (chart.wide && kinds.insert(mark.kind).second)
      out += "<li class=\"of-" + mark.kind + "\">" + html(mark_name(mark.kind)) + "</li>";
  return out + "</ul>";
}

/// What the page's script shows when a point is pointed at.
std::string data(const Chart& chart, const Frame& frame) {
  std::string out = "{\"u\":\"" + std::string(unit_name(chart.unit)) + "\",\"x0\":" + digits(frame.x.low) +
                    ",\"x1\":" + digits(frame.x.high) + ",\"s\":[";
  for (const Curve& curve : chart.curves) {
    if (curve.series->empty()) continue;
    std::string xs, ys;
    for (const Point& point : curve.series->points()) {
      xs += (xs.empty() ? "" : ",") + fixed(point.x, 0);
      ys += (ys.empty() ? "" : ",") + digits(point.y);
    }
    out += (out.back() == '[' ? "" : ",") + std::string("{\"n\":") + script_string(curve.name) + ",\"c\":\"" +
           look(curve) + "\",\"x\":[" + xs + "],\"y\":[" + ys + "]}";
  }
  return "<script type=\"application/json\">" + out + "]}</script>";
}

}  // namespace

std::string draw(const Chart& chart, double first, double last) {
  if (std::all_of(chart.curves.begin(), chart.curves.end(), [](const Curve& curve) { return curve.series->empty(); }))
    return {};
  const Frame frame{count_axis(first, last, chart.wide ? 8 : 5), vertical_axis(chart)};
  std::string out = "<figure class=\"card chart" + std::string(chart.wide ? " wide" : "") + "\"><figcaption><h3>" +
                    html(chart.title) + "</h3>" + legend(chart) + "</figcaption><div class=\"plot\">" +
                    axis_labels(frame) + "<div class=\"area\">" + svg(chart, frame) + mark_elements(chart, frame) +
                    "</div></div>";
  if (!chart.note.empty()) out += "<p class=\"note\">" + html(chart.note) + "</p>";
  return out + data(chart, frame) + "</figure>\n";
}

std::string_view mark_name(std::string_view kind) {
  if (kind == "attempt") return "attempt begins";
  if (kind == "oom") return "out of memory";
  if (kind == "plan") return "plan changed";
  return kind == "dropped" ? "window dropped" : "best";
}

}  // namespace holdfast::report
