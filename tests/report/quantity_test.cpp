#include "report/quantity.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace holdfast::report;

TEST_CASE("figures read as people write them") {
  CHECK(quantity(0.5, Unit::kNumber) == "0.5");
  CHECK(quantity(0.12345, Unit::kNumber) == "0.1235");
  CHECK(quantity(1410, Unit::kNumber) == "1410");
  CHECK(quantity(0.00002, Unit::kNumber) == "2e-05");
  CHECK(quantity(0.0123, Unit::kSeconds) == "12.3 ms");
  CHECK(quantity(0.00004, Unit::kSeconds) == "40 µs");
  CHECK(quantity(2.5, Unit::kSeconds) == "2.5 s");
  CHECK(quantity(3661, Unit::kSeconds) == "1 h 01 min");
  CHECK(quantity(1536, Unit::kBytes) == "1.5 KiB");
  CHECK(quantity(-5, Unit::kBytes) == "0 B");
  CHECK(quantity(840, Unit::kPerSecond) == "840/s");
  CHECK(quantity(0.25, Unit::kShare) == "25 %");
  CHECK(quantity(std::numeric_limits<double>::quiet_NaN(), Unit::kNumber) == "-");
}

TEST_CASE("an axis has round ticks inside its range") {
  const Axis axis = make_axis(0.07, 2.4, 4, Unit::kNumber, false);
  REQUIRE(axis.ticks.size() >= 3);
  CHECK(axis.ticks[0].label == "0.5");
  CHECK(axis.ticks[1].label == "1");
  CHECK(axis.place(0.07) == 0);
  CHECK(axis.place(2.4) == 1);
  CHECK(axis.place(99) == 1);
}

TEST_CASE("a logarithmic axis has ticks at powers and a constant lies in the middle") {
  const Axis axis = make_axis(0.001, 10, 4, Unit::kNumber, true);
  CHECK(axis.logarithmic);
  CHECK(axis.place(0.1) == doctest::Approx(0.5));
  REQUIRE(axis.ticks.size() == 5);
  CHECK(axis.ticks[1].label == "0.01");
  CHECK(make_axis(5, 5, 4, Unit::kNumber, true).place(5) == doctest::Approx(0.5));
  CHECK(make_axis(0, 0, 4, Unit::kNumber, false).ticks.size() >= 2);
}

TEST_CASE("axes of bytes have round binary ticks and counts have whole ones") {
  const Axis bytes = make_axis(0, 3.2 * 1024 * 1024, 4, Unit::kBytes, false);
  REQUIRE(bytes.ticks.size() >= 3);
  CHECK(bytes.ticks[1].label == "1 MiB");
  const Axis counts = count_axis(0, 3, 8);
  REQUIRE(counts.ticks.size() == 4);
  CHECK(counts.ticks[3].label == "3");
  CHECK(count_axis(0, 14100, 8).ticks[1].label == "2,000");
}
