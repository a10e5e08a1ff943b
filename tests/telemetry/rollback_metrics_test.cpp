// What a run that goes back, or is about to lose its machine, tells in metrics.
#include <doctest/doctest.h>

#include "base/clock.hpp"
#include "telemetry/exposition.hpp"
#include "telemetry/metrics/run_metrics.hpp"

using namespace holdfast;
using namespace holdfast::telemetry;
using namespace std::chrono_literals;
using test::read_exposition;

namespace {

void window(RunMetrics& metrics, std::int64_t update, std::int64_t samples_seen) {
  WindowReport report;
  report.update = update;
  report.applied = true;
  metrics.window(report, samples_seen, "", {});
}

}  // namespace

TEST_CASE(
    "rollbacks and notices count by reason and source, and samples are counted on from where the run went back to") {
  base::FakeClock clock(base::WallTime{1000s});
  RunMetrics metrics({"r", {}, {}, &clock});
  metrics.started({10, 1, 320, 40});
  window(metrics, 11, 352);
  metrics.rolled_back({11, 5, 9, 2, "spike", "why"}, 160);
  metrics.rolled_back({11, 5, 9, 2, "no such reason", "why"}, 160);
  metrics.preempted("file");
  metrics.preempted("moon");
  metrics.failed_behind(ExitCode::kDiverged);
  const auto before = read_exposition(metrics.text());
  CHECK(before.value("holdfast_run_update", {{"run", "r"}}) == 5);
  window(metrics, 6, 192);
  const auto text = read_exposition(metrics.text());
  CHECK(text.value("holdfast_rollbacks_total", {{"run", "r"}, {"reason", "spike"}}) == 1);
  CHECK(text.value("holdfast_rollbacks_total", {{"run", "r"}, {"reason", "other"}}) == 1);
  CHECK(text.value("holdfast_rollbacks_total", {{"run", "r"}, {"reason", "weights"}}) == 0);
  CHECK(text.value("holdfast_preemption_notices_total", {{"run", "r"}, {"source", "file"}}) == 1);
  CHECK(text.value("holdfast_preemption_notices_total", {{"run", "r"}, {"source", "other"}}) == 1);
  CHECK(text.value("holdfast_checkpoint_failures_total", {{"run", "r"}, {"reason", "nonfinite"}}) == 1);
  CHECK(text.value("holdfast_run_state", {{"run", "r"}, {"state", "stopping"}}) == 1);
  CHECK(text.value("holdfast_samples_total", {{"run", "r"}}) == 64);
}
