#include "report/exposition.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace holdfast::report;

TEST_CASE("samples are read with their labels, escapes undone") {
  const auto samples = read_exposition(
      "# HELP a Text.\n# TYPE a counter\na{run=\"x \\\"y\\\" \\\\ \\n\",stage=\"data\"} 1.5\na{run=\"x\",stage=\"b\"} "
      "2\n"
      "plain 3\nbad{ 1\nbad{a=\"b} 1\nworse\nb NaN\n");
  REQUIRE(samples.size() >= 3);
  CHECK(samples[0].labels.at("run") == "x \"y\" \\ \n");
  CHECK(total(samples, "a") == 3.5);
  CHECK(total(samples, "a", "stage", "data") == 1.5);
  CHECK(total(samples, "plain") == 3.0);
  CHECK_FALSE(total(samples, "absent"));
}

TEST_CASE("quantiles are linear within a bucket, as histogram_quantile has them") {
  const std::string text =
      "h_bucket{phase=\"compute\",le=\"0.1\"} 50\nh_bucket{phase=\"compute\",le=\"0.2\"} 90\n"
      "h_bucket{phase=\"compute\",le=\"+Inf\"} 100\nh_bucket{phase=\"data\",le=\"+Inf\"} 0\n";
  const auto samples = read_exposition(text);
  CHECK(quantile(samples, "h", "phase", "compute", 0.25) == doctest::Approx(0.05));
  CHECK(quantile(samples, "h", "phase", "compute", 0.7) == doctest::Approx(0.15));
  CHECK(quantile(samples, "h", "phase", "compute", 0.99) == doctest::Approx(0.2));
  CHECK_FALSE(quantile(samples, "h", "phase", "data", 0.5));
  CHECK_FALSE(quantile(samples, "other", "phase", "compute", 0.5));
}

TEST_CASE("a text of any size gives a bounded number of samples") {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "a 1\n";
  CHECK(read_exposition(text).size() == 5000);
}
