// The list of metrics keeps Prometheus' conventions, and the documentation is the list.
#include "telemetry/catalogue.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

using namespace holdfast::telemetry;

TEST_CASE("every metric keeps the naming rules: prefix, unit as suffix, _total for counters and only for them") {
  std::set<std::string_view> names;
  for (const MetricInfo& info : catalogue()) {
    CAPTURE(info.name);
    CHECK((info.name.starts_with("holdfast_") || info.name.starts_with("process_")));
    CHECK(info.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
    CHECK(names.insert(info.name).second);
    CHECK(info.name.ends_with("_total") == (info.type == MetricType::kCounter));
    const std::string unit = "_" + std::string(info.unit);
    if (info.name.starts_with("process_")) continue;  // standard names
    if (!info.unit.empty()) CHECK(info.name.find(unit) != std::string_view::npos);
    CHECK((info.type == MetricType::kHistogram) == !info.buckets.empty());
    CHECK(std::ranges::is_sorted(info.buckets));
  }
}

TEST_CASE("help is one plain line, since prometheus-cpp does not escape it") {
  for (const MetricInfo& info : catalogue()) {
    CAPTURE(info.name);
    CHECK(info.help.size() > 10);
    CHECK(info.help.back() == '.');
    CHECK(std::ranges::all_of(info.help,
                              [](char c) { return c >= ' ' && c < 127 && c != '\\' && c != '"' && c != '|'; }));
  }
}

TEST_CASE("no label is one that a scraper adds, and known values belong to labels that are there") {
  for (const MetricInfo& info : catalogue()) {
    CAPTURE(info.name);
    for (const char* taken : {"job", "instance", "le", "quantile", "run "})
      CHECK((" " + std::string(info.labels) + " ").find(std::string(" ") + taken + " ") == std::string::npos);
  }
  CHECK(label_values("holdfast_run_state", "state").size() == 7);
  CHECK(label_values("holdfast_run_state", "run").empty());
}

TEST_CASE("a name that the catalogue does not have is a bug, in words") {
  CHECK_THROWS_WITH_AS(metric("holdfast_nothing"), "no metric 'holdfast_nothing' in the catalogue", std::logic_error);
}

TEST_CASE("the JSON list is strict and complete") {
  const auto rows = nlohmann::json::parse(catalogue_json());
  REQUIRE(rows.size() == catalogue().size());
  CHECK(rows[0]["name"] == catalogue()[0].name);
  for (const auto& row : rows) {
    CHECK(row["labels"][0] == "run");
    CHECK(row.contains("help"));
    CHECK((row["type"] == "histogram") == !row["buckets"].empty());
  }
}

TEST_CASE("the list for people names each metric with its labels and type") {
  CHECK(catalogue_text().find("holdfast_run_state{run,state}  gauge\n  1 for the state") != std::string::npos);
}

TEST_CASE("the documentation is what `holdfast metrics --list --markdown` prints") {
  std::ifstream file(HOLDFAST_METRICS_DOC, std::ios::binary);
  const std::string written{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  CHECK_MESSAGE(written == catalogue_markdown(),
                "write it anew: build/release/holdfast metrics --list --markdown > runner/docs/metrics.md");
}
