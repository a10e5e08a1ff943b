// Decides when a save is due.
#include "periodic_checkpoint.hpp"

#include <cstdio>

namespace holdfast::plugins {
namespace {

std::string text_of(const Interval& every) {
  const char* plural = every.count == 1 ? "" : "s";
  if (every.unit == Interval::Unit::kUpdates) return std::to_string(every.count) + " update" + plural;
  if (every.unit == Interval::Unit::kEpochs) return std::to_string(every.count) + " epoch" + plural;
  char text[40];
  std::snprintf(text, sizeof text, "%g s", std::chrono::duration<double>(every.time).count());
  return text;
}

}  // namespace

void PeriodicCheckpoint::declare(OptionTable& options) {
  options.interval("every", {Interval::Unit::kTime, 0, std::chrono::minutes(10)})
      .doc("distance between saves: \"500 updates\", \"1 epoch\", \"10 min\"");
}

PeriodicCheckpoint::PeriodicCheckpoint(const Options& options, const Context& context)
    : every_(options.interval("every")), why_("every " + text_of(every_)), next_(every_.time) {
  const bool positive = every_.unit == Interval::Unit::kTime ? every_.time > Duration{} : every_.count > 0;
  if (!positive)
    throw Error(ExitCode::kBadRecipe, "periodic_checkpoint.every", context.table,
                "`every` must be more than nothing: got '" + text_of(every_) + "'",
                "to have no periodic checkpoints, set `enabled = false`");
}

void PeriodicCheckpoint::run_begin(const RunFacts& facts) {
  if (every_.unit == Interval::Unit::kUpdates) last_tick_ = facts.start_update / every_.count;
}

void PeriodicCheckpoint::window_end(const WindowReport& report, Requests& requests) {
  if (due(report) && !report.last) requests.save(why_);
}

bool PeriodicCheckpoint::due(const WindowReport& report) {
  switch (every_.unit) {
    case Interval::Unit::kUpdates: {
      const std::int64_t tick = report.update / every_.count;
      const bool passed = tick > last_tick_;
      last_tick_ = tick;
      return passed;
    }
    case Interval::Unit::kEpochs:
      return report.epoch_end && (report.epoch + 1) % every_.count == 0;
    case Interval::Unit::kTime:
      break;
  }
  if (report.now < next_) return false;
  next_ = report.now + every_.time;
  return true;
}

void PeriodicCheckpoint::save_end(const SaveReport& report) {
  if (report.ok && every_.unit == Interval::Unit::kTime) next_ = report.now + every_.time;
}

}  // namespace holdfast::plugins
