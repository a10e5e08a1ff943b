#include "report/chart.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace holdfast::report;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("a chart without points is none") {
  Series empty;
  Chart chart;
  chart.curves.push_back({"a", &empty});
  CHECK(draw(chart, 0, 10).empty());
}

TEST_CASE("a curve is drawn where its values lie, each attempt by itself") {
  Series series;
  series.add(0, 0, 1);
  series.add(10, 5, 1);
  series.add(5, 10, 2);
  Chart chart;
  chart.title = "T";
  chart.from_zero = true;
  chart.curves.push_back({"a", &series});
  const std::string html = draw(chart, 0, 10);
  CHECK(html.find("M0.0 1000.0L1000.0 537.0M500.0 74.1\"") != std::string::npos);
  CHECK(html.find("\"x\":[0,10,5],\"y\":[0,5,10]") != std::string::npos);
  CHECK(html.find("class=\"limit\"") == std::string::npos);
}

TEST_CASE("few measurements are joined over attempts where they go on") {
  Series series;
  series.add(0, 0, 1);
  series.add(5, 1, 2);
  series.add(4, 1, 3);
  Chart chart;
  chart.curves.push_back({"a", &series, Look::kFirst, true});
  const std::string html = draw(chart, 0, 10);
  const auto begin = html.find("class=\"line a\" d=\"") + 18;
  const std::string path = html.substr(begin, html.find('"', begin) - begin);
  CHECK(count(path, "M") == 2);
  CHECK(count(path, "L") == 1);
}

TEST_CASE("a limit is drawn and belongs to the range, marks stand at their update with their words") {
  Series series;
  series.add(0, 100, 1);
  series.add(10, 200, 1);
  Chart chart;
  chart.unit = Unit::kBytes;
  chart.curves.push_back({"a", &series});
  chart.limit = 1000;
  chart.limit_name = "budget";
  chart.wide = true;
  chart.marks = {{5, "oom", "", "out of <memory>"}, {5, "oom", "", "again"}};
  const std::string html = draw(chart, 0, 10);
  CHECK(html.find("class=\"limit\"") != std::string::npos);
  CHECK(html.find("of-limit\">budget</li>") != std::string::npos);
  CHECK(html.find("<i class=\"mark oom\" style=\"left:50.00%\" title=\"out of &lt;memory&gt;\"></i>") !=
        std::string::npos);
  CHECK(count(html, "of-oom\">out of memory") == 1);
}

TEST_CASE("labels of marks do not cover each other") {
  Series series;
  series.add(0, 1, 1);
  Chart chart;
  chart.curves.push_back({"a", &series});
  for (int i = 0; i < 100; ++i) chart.marks.push_back({static_cast<double>(i), "attempt", std::to_string(i), ""});
  const std::string html = draw(chart, 0, 100);
  CHECK(count(html, "class=\"mark attempt\"") == 100);
  CHECK(count(html, "<b>") == 11);
}

TEST_CASE("names inside the data cannot end the script element") {
  Series series;
  series.add(0, 1, 1);
  Chart chart;
  chart.curves.push_back({"</script><script>alert(1)</script>", &series});
  CHECK(count(draw(chart, 0, 1), "</script>") == 1);
}

TEST_CASE("a wild value does not flatten a curve, and positive values over decades have a logarithmic axis") {
  Series wild, wide;
  for (int i = 0; i < 400; ++i) wild.add(i, i == 7 ? 1e6 : 1 + i * 0.01, 1), wide.add(i, 1000.0 / (1 + i * i), 1);
  Chart chart;
  chart.curves.push_back({"a", &wild});
  CHECK(draw(chart, 0, 400).find("1e+06</span>") == std::string::npos);
  chart.curves[0].series = &wide;
  CHECK(draw(chart, 0, 400).find(">100</span>") != std::string::npos);
}
