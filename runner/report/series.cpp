// Points of one attempt merge with each other; only a curve of very many attempts gives up their borders.
#include "report/series.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace holdfast::report {
namespace {

void merge(Point& into, const Point& other) {
  const auto a = static_cast<double>(into.count), b = static_cast<double>(other.count);
  into.x = (into.x * a + other.x * b) / (a + b);
  into.y = (into.y * a + other.y * b) / (a + b);
  into.low = std::min(into.low, other.low);
  into.high = std::max(into.high, other.high);
  into.count += other.count;
  into.attempt = other.attempt;
}

}  // namespace

void Series::add(double x, double y, int attempt) {
  if (!std::isfinite(x) || !std::isfinite(y) || std::abs(y) > 1e300) return;  // sums of larger ones would not be finite
  const Point point{x, y, y, y, 1, attempt};
  if (!points_.empty() && points_.back().count < stride_ && points_.back().attempt == attempt)
    return merge(points_.back(), point);
  if (points_.size() == kMost) halve();
  points_.push_back(point);
}

void Series::halve() {
  stride_ *= 2;
  for (const bool keep_attempts : {true, false}) {
    std::vector<Point> fewer;
    fewer.reserve(kMost);
    bool open = false;  // the last point may take one more
    for (const Point& point : points_) {
      const bool joins = open && (!keep_attempts || fewer.back().attempt == point.attempt);
      if (joins)
        merge(fewer.back(), point);
      else
        fewer.push_back(point);
      open = !joins;
    }
    points_ = std::move(fewer);
    if (points_.size() <= kMost * 3 / 4) return;
  }
}

Series smoothed(const Series& series, double memory) {
  const auto& points = series.points();
  const double keep = std::exp(-1.0 / memory);
  std::vector<double> sums(points.size()), weights(points.size());
  // Once in each direction, so that the line neither lags nor leads.
  const auto pass = [&](std::size_t first, std::ptrdiff_t step) {
    double sum = 0, weight = 0;
    std::ptrdiff_t at = static_cast<std::ptrdiff_t>(first);
    for (std::size_t n = 0; n < points.size(); ++n, at += step) {
      const auto i = static_cast<std::size_t>(at);
      if (n > 0 && points[i].attempt != points[static_cast<std::size_t>(at - step)].attempt) sum = weight = 0;
      sum = sum * keep + points[i].y;
      weight = weight * keep + 1;
      sums[i] += sum;
      weights[i] += weight;
    }
  };
  if (points.empty()) return {};
  pass(0, 1);
  pass(points.size() - 1, -1);
  Series out;
  for (std::size_t i = 0; i < points.size(); ++i) out.add(points[i].x, sums[i] / weights[i], points[i].attempt);
  return out;
}

}  // namespace holdfast::report
