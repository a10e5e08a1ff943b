// The periodic_checkpoint hook: when it asks for a save.
#include "periodic_checkpoint/periodic_checkpoint.hpp"

#include <doctest/doctest.h>

#include "fixtures/components.hpp"

using holdfast::Duration;
using holdfast::Interval;
using holdfast::Options;
using holdfast::Requests;
using holdfast::WindowReport;
using holdfast::plugins::PeriodicCheckpoint;
using holdfast::test::defaults;
using holdfast::test::Lender;
using holdfast::test::told;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

Options every(Interval interval) {
  Options options;
  options.set("every", interval);
  return options;
}

std::string asked(PeriodicCheckpoint& hook, const WindowReport& report) {
  Requests requests;
  hook.window_end(report, requests);
  return requests.save_reason.value_or("");
}

std::string at_update(PeriodicCheckpoint& hook, std::int64_t update, bool last = false) {
  WindowReport report;
  report.update = update;
  report.last = last;
  return asked(hook, report);
}

std::string at_time(PeriodicCheckpoint& hook, Duration now) {
  WindowReport report;
  report.now = now;
  return asked(hook, report);
}

}  // namespace

TEST_CASE("By default every ten minutes") {
  Lender lender;
  PeriodicCheckpoint hook(defaults<PeriodicCheckpoint>(), lender.context("hook.periodic_checkpoint"));
  hook.run_begin({});
  CHECK(at_time(hook, minutes(9)).empty());
  CHECK(at_time(hook, minutes(10)) == "every 600 s");
  CHECK(at_time(hook, minutes(11)).empty());
  CHECK(at_time(hook, minutes(20)) == "every 600 s");
}

TEST_CASE("Missed ticks are made up by one save, and time counts from the last save of any cause") {
  Lender lender;
  PeriodicCheckpoint hook(every({Interval::Unit::kTime, 0, minutes(1)}), lender.context("hook.periodic_checkpoint"));
  CHECK(at_time(hook, minutes(5)) == "every 60 s");
  CHECK(at_time(hook, minutes(5) + seconds(59)).empty());
  hook.save_end({.update = 9, .path = "", .reason = "signal", .ok = true, .took = {}, .now = minutes(5) + seconds(59)});
  CHECK(at_time(hook, minutes(6) + seconds(30)).empty());
  CHECK(at_time(hook, minutes(6) + seconds(59)) == "every 60 s");
  hook.save_end({.update = 9, .path = "", .reason = "x", .ok = false, .took = {}, .now = minutes(7) + seconds(30)});
  CHECK(at_time(hook, minutes(7) + seconds(59)) == "every 60 s");
}

TEST_CASE("Updates lie on a fixed grid that a resume keeps, and a dropped window asks for nothing") {
  Lender lender;
  PeriodicCheckpoint hook(every({Interval::Unit::kUpdates, 10, {}}), lender.context("hook.periodic_checkpoint"));
  hook.run_begin({.name = "", .total_updates = 100, .updates_per_epoch = 100, .start_update = 13});
  CHECK(at_update(hook, 14).empty());
  CHECK(at_update(hook, 20) == "every 10 updates");
  CHECK(at_update(hook, 20).empty());
  CHECK(at_update(hook, 29).empty());
  CHECK(at_update(hook, 30) == "every 10 updates");
}

TEST_CASE("The last window is left to the save at the end") {
  Lender lender;
  PeriodicCheckpoint hook(every({Interval::Unit::kUpdates, 1, {}}), lender.context("hook.periodic_checkpoint"));
  hook.run_begin({});
  CHECK(at_update(hook, 1) == "every 1 update");
  CHECK(at_update(hook, 2, true).empty());
}

TEST_CASE("Epochs count from the start of the run") {
  Lender lender;
  PeriodicCheckpoint hook(every({Interval::Unit::kEpochs, 2, {}}), lender.context("hook.periodic_checkpoint"));
  std::string asked_at;
  for (std::int64_t epoch = 0; epoch < 6; ++epoch) {
    WindowReport report;
    report.epoch = epoch;
    CHECK(asked(hook, report).empty());
    report.epoch_end = true;
    if (asked(hook, report) == "every 2 epochs") asked_at += std::to_string(epoch) + " ";
  }
  CHECK(asked_at == "1 3 5 ");
}

TEST_CASE("No distance at all is refused") {
  Lender lender;
  CHECK(told([&] {
          PeriodicCheckpoint(every({Interval::Unit::kUpdates, 0, {}}), lender.context("hook.periodic_checkpoint"));
        }) ==
        "78 hook.periodic_checkpoint: error[periodic_checkpoint.every]: `every` must be more than nothing: got '0 "
        "updates'\n  hint: to have no periodic checkpoints, set `enabled = false`");
}
