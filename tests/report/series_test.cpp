#include "report/series.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace holdfast::report;

TEST_CASE("a million values fit into the bound, and nothing of them is lost") {
  Series series;
  double sum = 0;
  for (int i = 0; i < 1000000; ++i) series.add(i, i % 7, 1), sum += i % 7;
  CHECK(series.points().size() <= Series::kMost);
  CHECK(series.points().size() > Series::kMost / 4);
  double found = 0, before = -1;
  std::int64_t count = 0;
  for (const Point& point : series.points()) {
    CHECK(point.x > before);
    CHECK(point.low >= 0);
    CHECK(point.high <= 6);
    before = point.x;
    found += point.y * static_cast<double>(point.count);
    count += point.count;
  }
  CHECK(count == 1000000);
  CHECK(found == doctest::Approx(sum));
}

TEST_CASE("points of two attempts stay apart") {
  Series series;
  for (int i = 0; i < 3000; ++i) series.add(i, 1, 1);
  for (int i = 2000; i < 5000; ++i) series.add(i, 3, 2);
  for (const Point& point : series.points()) CHECK(point.y == (point.attempt == 1 ? 1 : 3));
}

TEST_CASE("a curve of very many attempts keeps the bound") {
  Series series;
  for (int i = 0; i < 100000; ++i) series.add(i, i, i);
  CHECK(series.points().size() <= Series::kMost);
}

TEST_CASE("values that are not finite are ignored") {
  Series series;
  series.add(1, std::numeric_limits<double>::quiet_NaN(), 1);
  series.add(std::numeric_limits<double>::infinity(), 1, 1);
  series.add(1, 1e308, 1);
  CHECK(series.empty());
}

TEST_CASE("a moving average begins anew with each attempt and keeps a constant") {
  Series series;
  for (int i = 0; i < 50; ++i) series.add(i, 2, 1);
  for (int i = 20; i < 70; ++i) series.add(i, 8, 2);
  const Series mean = smoothed(series, 5);
  REQUIRE(mean.points().size() == 100);
  for (const Point& point : mean.points()) CHECK(point.y == doctest::Approx(point.attempt == 1 ? 2 : 8));
}
