// What a run's metrics tell over several attempts, and what a batch job leaves behind.
#include <doctest/doctest.h>

#include "telemetry/exposition.hpp"
#include "telemetry/metrics/run_metrics.hpp"

using namespace holdfast;
using namespace holdfast::telemetry;
using namespace std::chrono_literals;
using test::read_exposition;

TEST_CASE("attempts go on from what is recalled, and the last success outlives a failure") {
  RunMetrics metrics({"r"});
  Outcomes before;
  before.attempts = {{"succeeded", 3}, {"failed", 2}, {"of a later version", 9}};
  before.last_success = 1234;
  metrics.recall(before);
  metrics.ended(ExitCode::kDiverged);
  const auto text = read_exposition(metrics.text());
  const auto attempts = [&](const char* outcome) {
    return text.value("holdfast_run_attempts_total", {{"run", "r"}, {"outcome", outcome}});
  };
  CHECK(attempts("succeeded") == 3);
  CHECK(attempts("failed") == 3);
  CHECK(attempts("interrupted") == 0);
  CHECK(text.families.at("holdfast_run_attempts_total").series.size() == 4);
  CHECK(text.only("holdfast_run_last_success_timestamp_seconds") == 1234);
}

TEST_CASE("the outcome is what a batch job leaves behind, and nothing of its life") {
  RunMetrics metrics({"r", {}, {}, nullptr, 24h});
  metrics.identify({});
  metrics.ended(ExitCode::kOk);
  const auto text = read_exposition(metrics.text(Extent::kOutcome));
  CHECK(text.only("holdfast_run_expected_interval_seconds") == 86400);
  CHECK(text.only("holdfast_run_last_exit_code") == 0);
  CHECK(text.families.count("holdfast_build_info") == 1);
  for (const auto& [name, family] : text.families)
    CHECK_MESSAGE((name.starts_with("holdfast_run_") || name == "holdfast_build_info"), name);
}

TEST_CASE("messages of the log are counted by level") {
  std::array<std::int64_t, 4> counts{};
  RunMetricsSettings settings{"r"};
  settings.log_messages = [&] { return counts; };
  RunMetrics metrics(settings);
  counts = {1, 20, 3, 0};
  static_cast<void>(metrics.text());
  counts[2] = 5;
  const auto text = read_exposition(metrics.text());
  const auto level = [&](const char* name) {
    return text.value("holdfast_log_messages_total", {{"run", "r"}, {"level", name}});
  };
  CHECK(level("info") == 20);
  CHECK(level("warning") == 5);
  CHECK(level("error") == 0);
}

TEST_CASE("failures and restarts of the home go on from what it remembers, by cause") {
  RunMetrics metrics({"digits"});
  metrics.remember({{"crash", 2}, {"host_oom", 0}}, {{"crash", 1}});
  const std::string text = metrics.text();
  CHECK(text.find("holdfast_run_failures_total{cause=\"crash\",run=\"digits\"} 2\n") != std::string::npos);
  CHECK(text.find("holdfast_run_failures_total{cause=\"host_oom\",run=\"digits\"} 0\n") != std::string::npos);
  CHECK(text.find("holdfast_supervisor_restarts_total{cause=\"crash\",run=\"digits\"} 1\n") != std::string::npos);
}
