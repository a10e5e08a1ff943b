// What a run's figures look like from outside, with hostile names, foreign locales and threads.
#include "telemetry/metrics/run_metrics.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <locale>
#include <thread>

#include "telemetry/catalogue.hpp"
#include "telemetry/exposition.hpp"

using namespace holdfast;
using namespace holdfast::telemetry;
using namespace std::chrono_literals;
using test::read_exposition;

namespace {

WindowReport applied(std::int64_t update) {
  WindowReport report;
  report.update = update;
  report.epoch = 2;
  report.applied = true;
  report.loss = 0.25;
  report.grad_norm = 1.5;
  report.learning_rate = 1e-3;
  report.loss_scale = 512;
  return report;
}

/// A run that does everything that a run can tell of.
void live(RunMetrics& metrics, base::FakeClock& clock) {
  metrics.identify({"20261130T101500Z-3f2a", "cpu", "accumulate,amp", "0.1.0", "2.13.0", 2});
  metrics.remember({{"crash", 1}}, {{"crash", 1}});
  metrics.loaded(250ms);
  metrics.started({10, 1, 320, 40});
  metrics.micro_batch_memory(70, 90, 128);
  metrics.window(applied(11), 352, "", {2ms, 3ms, 5ms, 1ms, 10ms});
  WindowReport lost;
  lost.update = 11;
  lost.epoch = 2;
  lost.epoch_end = true;
  lost.loss = NAN;
  metrics.window(lost, 384, "nonfinite", {0ms, 3ms, 5ms, 0ms, 9ms});
  lost.loss = 1;
  metrics.window(lost, 384, "nonfinite", {});
  metrics.window(lost, 384, "vetoed", {});
  metrics.evaluating();
  clock.advance(4s);
  metrics.evaluated({11, {{"loss", 0.5}, {"accuracy", 0.75}}});
  metrics.saving();
  clock.advance(2s);
  metrics.saved(1000);
  metrics.saving();
  metrics.save_failed(ExitCode::kIoError);
  metrics.out_of_memory({11, "backward", 0, "no memory", "the micro-batch is halved", "halve_micro_batch"});
  metrics.plan_changed("micro_batch_size");
  metrics.out_of_memory({11, "backward", 0, "no memory", "nothing left to try", "save"});
  metrics.sample_skipped();
  metrics.component("hook.probe").gauge("level", 7);
}

}  // namespace

TEST_CASE("what happened is told, in Prometheus' units, with counters of this process and gauges of the run") {
  base::FakeClock clock(base::WallTime{1000s});
  RunMetrics metrics(
      {"r",
       [] { return MemoryReading{100, 200, 300, DomainReading{10, 20, 15, 40}, DomainReading{1, 2, 3, 0}}; },
       {},
       &clock});
  live(metrics, clock);
  const auto text = read_exposition(metrics.text());
  const auto stage = [&](const char* name) {
    return text.value("holdfast_stage_seconds_total", {{"run", "r"}, {"stage", name}});
  };
  CHECK(text.only("holdfast_updates_total") == 1);
  CHECK(text.only("holdfast_samples_total") == 64);
  CHECK(text.only("holdfast_epochs_total") == 3);
  CHECK(text.only("holdfast_run_update") == 11);
  CHECK(text.only("holdfast_run_epoch") == 3);
  CHECK(text.only("holdfast_target_updates") == 40);
  CHECK(text.only("holdfast_train_loss") == 0.25);
  CHECK(text.only("holdfast_grad_norm") == 1.5);
  CHECK(text.only("holdfast_learning_rate") == 0);
  CHECK(text.only("holdfast_loss_scale") == 512);
  CHECK(text.only("holdfast_micro_batch_allocated_bytes") == 70);
  CHECK(text.only("holdfast_micro_batch_peak_bytes") == 90);
  CHECK(text.only("holdfast_micro_batch_reserved_bytes") == 128);
  CHECK(text.only("holdfast_last_update_timestamp_seconds") == 1000);
  CHECK(text.only("holdfast_run_attempt") == 2);
  CHECK(stage("data") == doctest::Approx(0.002));
  CHECK(stage("forward") == doctest::Approx(0.006));
  CHECK(stage("backward") == doctest::Approx(0.010));
  CHECK(stage("optimizer") == doctest::Approx(0.001));
  CHECK(stage("evaluation") == 4);
  CHECK(stage("checkpoint") == 2);
  CHECK(text.value("holdfast_eval_metric", {{"run", "r"}, {"metric", "accuracy"}}) == 0.75);
  CHECK(text.value("holdfast_nonfinite_total", {{"run", "r"}, {"kind", "loss"}}) == 1);
  CHECK(text.value("holdfast_nonfinite_total", {{"run", "r"}, {"kind", "gradient"}}) == 1);
  CHECK(text.value("holdfast_skipped_updates_total", {{"run", "r"}, {"reason", "nonfinite"}}) == 2);
  CHECK(text.value("holdfast_skipped_updates_total", {{"run", "r"}, {"reason", "vetoed"}}) == 1);
  CHECK(text.value("holdfast_skipped_updates_total", {{"run", "r"}, {"reason", "empty"}}) == 0);
  CHECK(text.only("holdfast_skipped_samples_total") == 1);
  CHECK(text.value("holdfast_oom_events_total", {{"run", "r"}, {"action", "retry"}}) == 0);
  CHECK(text.value("holdfast_oom_events_total", {{"run", "r"}, {"action", "halve_micro_batch"}}) == 1);
  CHECK(text.value("holdfast_oom_events_total", {{"run", "r"}, {"action", "aborted"}}) == 1);
  CHECK(text.value("holdfast_strategy_changes_total", {{"run", "r"}, {"to", "micro_batch_size"}}) == 1);
  CHECK(text.only("holdfast_memory_resident_bytes") == 100);
  CHECK(text.only("holdfast_memory_peak_resident_bytes") == 200);
  CHECK(text.only("holdfast_checkpoint_filesystem_free_bytes") == 300);
  const auto memory = [&](const char* what, const char* domain) {
    return text.value("holdfast_memory_" + std::string(what) + "_bytes", {{"run", "r"}, {"domain", domain}});
  };
  CHECK(memory("allocated", "device") == 10);
  CHECK(memory("reserved", "device") == 20);
  CHECK(memory("peak_allocated", "device") == 15);
  CHECK(memory("allocated", "host") == 1);
  CHECK(text.only("holdfast_memory_budget_bytes") == 40);
  CHECK(text.only("holdfast_checkpoint_size_bytes") == 1000);
  CHECK(text.only("holdfast_checkpoint_last_success_timestamp_seconds") == 1006);
  CHECK(text.value("holdfast_checkpoint_failures_total", {{"run", "r"}, {"reason", "io"}}) == 1);
  CHECK(text.value("holdfast_component_value", {{"run", "r"}, {"component", "hook.probe"}, {"name", "level"}}) == 7);
  const auto histogram = [&](const char* name, test::LabelMap labels, const char* part) {
    labels["run"] = "r";
    labels["part"] = part;
    return text.value(name, labels);
  };
  CHECK(histogram("holdfast_update_duration_seconds", {{"phase", "compute"}}, "_count") == 4);
  CHECK(histogram("holdfast_update_duration_seconds", {{"phase", "compute"}}, "_sum") == doctest::Approx(0.019));
  CHECK(histogram("holdfast_update_duration_seconds", {{"phase", "compute"}, {"le", "0.01"}}, "_bucket") == 4);
  CHECK(histogram("holdfast_update_duration_seconds", {{"phase", "compute"}, {"le", "0.005"}}, "_bucket") == 2);
  CHECK(histogram("holdfast_checkpoint_duration_seconds", {{"op", "save"}}, "_sum") == 2);
  CHECK(histogram("holdfast_checkpoint_duration_seconds", {{"op", "load"}}, "_sum") == 0.25);
}

TEST_CASE("exactly one state is 1, from pending to the end") {
  base::FakeClock clock;
  RunMetrics metrics({"r", {}, {}, &clock});
  const auto state = [&] {
    std::string found;
    const auto text = read_exposition(metrics.text());
    for (const auto& [labels, value] : text.families.at("holdfast_run_state").series)
      if (value == 1) found += labels.at("state");
    return found;
  };
  CHECK(state() == "pending");
  metrics.started({});
  CHECK(state() == "running");
  metrics.saving();
  CHECK(state() == "checkpointing");
  metrics.saved(1);
  CHECK(state() == "running");
  metrics.stopping();
  CHECK(state() == "stopping");
  metrics.saving();
  metrics.saved(1);
  CHECK(state() == "stopping");
  SUBCASE("saved") {
    metrics.ended(ExitCode::kStoppedAfterSave);
    CHECK(state() == "preempted");
    const auto text = read_exposition(metrics.text());
    CHECK(text.only("holdfast_run_last_exit_code") == 75);
    CHECK(text.families.count("holdfast_run_last_success_timestamp_seconds") == 0);
    metrics.ended(ExitCode::kOk);
    metrics.saving();
    CHECK(state() == "preempted");
  }
  SUBCASE("succeeded") {
    metrics.ended(ExitCode::kOk);
    CHECK(state() == "succeeded");
  }
  SUBCASE("failed") {
    metrics.ended(ExitCode::kDiverged);
    CHECK(state() == "failed");
  }
}

TEST_CASE("a run that did everything exports every metric of the catalogue and nothing else") {
  base::FakeClock clock;
  RunMetrics metrics({"r", [] { return MemoryReading{1, 2, 3, DomainReading{1, 1, 1, 1}, {}}; }, {}, &clock, 24h});
  live(metrics, clock);
  metrics.delivered("push", true);
  metrics.ended(ExitCode::kOk);
  const auto text = read_exposition(metrics.text());
  CHECK(text.families.size() == catalogue().size());
  constexpr const char* kTypes[] = {"counter", "gauge", "histogram"};
  for (const MetricInfo& info : catalogue()) {
    CAPTURE(info.name);
    REQUIRE(text.families.count(std::string(info.name)) == 1);
    const auto& family = text.families.at(std::string(info.name));
    CHECK(family.help == info.help);
    CHECK(family.type == kTypes[static_cast<int>(info.type)]);
    for (const auto& [labels, value] : family.series) CHECK(labels.at("run") == "r");
  }
}

TEST_CASE("series known in advance are there from the start, at 0; what has not happened is absent") {
  RunMetrics metrics({"r", [] { return MemoryReading{1, 2, 3, DomainReading{}, {}}; }});
  metrics.identify({});
  const auto text = read_exposition(metrics.text());
  for (const MetricInfo& info : catalogue()) {
    CAPTURE(info.name);
    CHECK(text.families.count(std::string(info.name)) == (info.appears == Appears::kFromStart ? 1 : 0));
    if (info.type != MetricType::kCounter || info.appears != Appears::kFromStart) continue;
    if (info.name.starts_with("process_")) continue;  // this process is older than the run
    for (const auto& [labels, value] : text.families.at(std::string(info.name)).series) CHECK(value == 0);
  }
}

TEST_CASE("a figure of memory that cannot be told has no series") {
  RunMetrics metrics({"r", [] { return MemoryReading{5, {}, {}, {}, {}}; }});
  const auto text = read_exposition(metrics.text());
  CHECK(text.only("holdfast_memory_resident_bytes") == 5);
  CHECK(text.families.count("holdfast_memory_peak_resident_bytes") == 0);
}

TEST_CASE("C95: hostile run names read back as they were") {
  const std::string names[] = {R"(say "hi")",
                               R"(back\slash\)",
                               "two\nlines",
                               "r\xC3\xA4tsel \xE2\x82\xAC \xF0\x9F\x8E\x89",
                               std::string(10'000, 'x'),
                               "",
                               "{a=\"b\"} 1",
                               "# HELP",
                               "tab\t, cr\r"};
  for (const std::string& name : names) {
    CAPTURE(name);
    RunMetrics metrics({name});
    const auto text = read_exposition(metrics.text());
    for (const auto& [family, content] : text.families)
      for (const auto& [labels, value] : content.series) CHECK(labels.at("run") == name);
  }
}

TEST_CASE("C95: bytes that are no UTF-8 become replacement characters, and foreign names are cut between characters") {
  RunMetrics metrics({"bad\xFF"});
  std::string long_name;
  for (int i = 0; i < 5000; ++i) long_name += "\xE2\x82\xAC";
  metrics.component("hook.x").gauge(long_name, 1);
  metrics.component("hook.x").gauge("\xC3", 2);
  const auto text = read_exposition(metrics.text());
  std::string cut;
  for (int i = 0; i < 66; ++i) cut += "\xE2\x82\xAC";
  CHECK(text.value("holdfast_component_value", {{"run", "bad\xEF\xBF\xBD"}, {"component", "hook.x"}, {"name", cut}}) ==
        1);
  CHECK(text.value("holdfast_component_value",
                   {{"run", "bad\xEF\xBF\xBD"}, {"component", "hook.x"}, {"name", "\xEF\xBF\xBD"}}) == 2);
}

TEST_CASE("C95: numbers have a decimal point whatever the locale") {
  struct Comma : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Comma));
  base::FakeClock clock(base::WallTime{1234567s + 500ms});
  RunMetrics metrics({"r", [] { return MemoryReading{1234567, 0, 0, {}, {}}; }, {}, &clock});
  metrics.started({1234567, 0, 0, 0});
  const std::string text = metrics.text(), json = catalogue_json();
  std::locale::global(before);
  const auto read = read_exposition(text);
  CHECK(read.only("holdfast_run_start_timestamp_seconds") == 1234567.5);
  CHECK(read.only("holdfast_run_update") == 1234567);
  CHECK(text.find("le=\"0.0001\"") != std::string::npos);
  CHECK(json.find("0.0001, 0.00025") != std::string::npos);
}

TEST_CASE("special values of a component are exported as such") {
  RunMetrics metrics({"r"});
  metrics.component("c").gauge("nan", NAN);
  metrics.component("c").gauge("inf", -INFINITY);
  metrics.component("c").gauge("tiny", std::numeric_limits<double>::denorm_min());
  const auto text = read_exposition(metrics.text());
  const auto value = [&](const char* name) {
    return text.value("holdfast_component_value", {{"run", "r"}, {"component", "c"}, {"name", name}});
  };
  CHECK(std::isnan(value("nan")));
  CHECK(value("inf") == -INFINITY);
  CHECK(value("tiny") > 0);
}

TEST_CASE("components may report a bounded number of figures, and the bound is told once") {
  std::vector<std::string> told;
  RunMetrics metrics({"r", {}, [&](std::string_view sentence) { told.emplace_back(sentence); }});
  for (int i = 0; i < 300; ++i) metrics.component("hook.a").gauge("figure_" + std::to_string(i), i);
  metrics.component("hook.b").gauge("late", 1);
  metrics.component("hook.a").gauge("figure_5", -5);
  const auto text = read_exposition(metrics.text());
  CHECK(text.families.at("holdfast_component_value").series.size() == kMostComponentSeries);
  CHECK(text.value("holdfast_component_value", {{"run", "r"}, {"component", "hook.a"}, {"name", "figure_5"}}) == -5);
  CHECK(told == std::vector<std::string>{"metrics: components report more than 100 figures; those of new names, like "
                                         "'figure_100' of hook.a, are not exported"});
}

TEST_CASE("texts are made while windows end and components report, on many threads") {
  RunMetrics metrics({"r", [] { return MemoryReading{1, 2, 3, {}, {}}; }});
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      while (!done) read_exposition(metrics.text());
    });
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; !done; ++i) metrics.component("c" + std::to_string(t)).gauge(std::to_string(i % 60), i);
    });
  metrics.started({});
  for (int i = 1; i <= 3000; ++i) {
    metrics.window(applied(i), i, "", {1ms, 1ms, 1ms, 1ms, 3ms});
    if (i % 100 == 0) metrics.saving(), metrics.saved(i), metrics.evaluating(), metrics.evaluated({i, {{"loss", 1.0}}});
  }
  metrics.ended(ExitCode::kOk);
  done = true;
  for (auto& thread : threads) thread.join();
  CHECK(read_exposition(metrics.text()).only("holdfast_updates_total") == 3000);
}

TEST_CASE("a save behind the loop costs the loop its copy; its duration is the writer's") {
  base::FakeClock clock(base::WallTime{1000s});
  RunMetrics metrics({"r", {}, {}, &clock});
  metrics.saving();
  clock.advance(250ms);
  metrics.snapshot_taken();
  metrics.save_missed();
  metrics.save_missed();
  clock.advance(8s);
  metrics.saved_behind(4096, 6s);
  metrics.failed_behind(ExitCode::kIoError);
  const auto text = read_exposition(metrics.text());
  CHECK(text.value("holdfast_stage_seconds_total", {{"run", "r"}, {"stage", "checkpoint"}}) == 0.25);
  CHECK(text.only("holdfast_checkpoint_missed_total") == 2);
  CHECK(text.only("holdfast_checkpoint_size_bytes") == 4096);
  CHECK(text.value("holdfast_checkpoint_duration_seconds", {{"run", "r"}, {"op", "save"}, {"part", "_sum"}}) == 6);
  CHECK(text.value("holdfast_checkpoint_failures_total", {{"run", "r"}, {"reason", "io"}}) == 1);
  CHECK(text.value("holdfast_run_state", {{"run", "r"}, {"state", "running"}}) == 1);
}
