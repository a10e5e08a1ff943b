// A curve of bounded size, however long the run: when it is full, neighbours become one point. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::report {

struct Point {
  double x = 0, y = 0;       ///< means of `count` values
  double low = 0, high = 0;  ///< of the values
  std::int64_t count = 0;
  int attempt = 0;
};

class Series {
 public:
  static constexpr std::size_t kMost = 400;

  /// Values in order of time; x falls back where an attempt resumed. Values that are not finite are ignored.
  void add(double x, double y, int attempt);
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }
  [[nodiscard]] bool empty() const { return points_.empty(); }

 private:
  void halve();
  std::vector<Point> points_;
  std::int64_t stride_ = 1;  ///< values that a point holds before the next one begins
};

/// Mean of each point and its neighbours of the same attempt, the nearer the heavier, for a line above a noisy one.
/// `memory`: points after which a neighbour counts a third.
Series smoothed(const Series& series, double memory);

}  // namespace holdfast::report
