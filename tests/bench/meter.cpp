// What metrics cost, without a run around them: nanoseconds of a window, microseconds of a text, the end of an endpoint
// with stalled clients. Prints one JSON object; built for the benchmark, never run by ctest.
#include <chrono>
#include <cstdio>
#include <vector>

#include "telemetry/client.hpp"
#include "telemetry/metrics/endpoint.hpp"
#include "telemetry/metrics/run_metrics.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::telemetry;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double window_nanoseconds(RunMetrics& metrics) {
  constexpr int kWindows = 1'000'000;
  WindowReport report;
  report.applied = true;
  report.grad_norm = 1;
  const auto ms = std::chrono::milliseconds(1);
  const auto begin = Clock::now();
  for (int i = 1; i <= kWindows; ++i) {
    report.update = i;
    report.loss = 1.0 / i;
    metrics.window(report, i, "", {ms, ms, ms, ms, 3 * ms});
  }
  return seconds_since(begin) / kWindows * 1e9;
}

double text_microseconds(RunMetrics& metrics) {
  constexpr int kTexts = 1000;
  const auto begin = Clock::now();
  std::size_t bytes = 0;
  for (int i = 0; i < kTexts; ++i) bytes += metrics.text().size();
  return bytes == 0 ? 0 : seconds_since(begin) / kTexts * 1e6;
}

struct Stalled {
  double scrape_milliseconds = 0, stop_milliseconds = 0;
};

Stalled with_stalled_clients(RunMetrics& metrics) {
  std::string problem;
  auto endpoint =
      Endpoint::open(*base::parse_listen_address("127.0.0.1:0").address, [&] { return metrics.text(); }, problem);
  const int port = endpoint->address().port;
  std::vector<test::Client> clients;
  for (int i = 0; i < 25; ++i) {
    clients.emplace_back(port);
    if (i % 2 == 1) clients.back().send("GET /metrics HTTP/1.1\r\nHo");
  }
  Stalled out;
  auto begin = Clock::now();
  if (!test::ask(port, "GET", "/metrics").starts_with("HTTP/1.1 200")) std::fputs("no answer\n", stderr);
  out.scrape_milliseconds = seconds_since(begin) * 1e3;
  begin = Clock::now();
  endpoint.reset();
  out.stop_milliseconds = seconds_since(begin) * 1e3;
  return out;
}

}  // namespace

int main() {
  RunMetrics metrics({"bench"});
  metrics.started({});
  const double window = window_nanoseconds(metrics), text = text_microseconds(metrics);
  const Stalled stalled = with_stalled_clients(metrics);
  std::printf(
      "{\"window_ns\": %.0f, \"text_us\": %.0f, \"scrape_with_25_stalled_ms\": %.2f, \"stop_with_25_stalled_ms\": "
      "%.2f}\n",
      window, text, stalled.scrape_milliseconds, stalled.stop_milliseconds);
}
