// Shares, crossings, requests.
#include "memory_guard.hpp"

#include <chrono>
#include <cstdio>

namespace holdfast::plugins {
namespace {

constexpr auto kMachineEvery = std::chrono::seconds(1);  // files are read for it

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

void MemoryGuard::declare(OptionTable& options) {
  options.number("at", 0.9).above(0).max(1).doc("share of the limit in use that counts as a crossing");
  options.number("hysteresis", 0.05)
      .min(0)
      .below(1)
      .doc("how far the share must fall below `at` before it counts again");
  options.string("then", "continue")
      .one_of({"continue", "escalate", "exit"})
      .doc("after the save: go on, go on with the next rung of memory.on_oom, or end with exit code 75");
}

MemoryGuard::MemoryGuard(const Options& options, const Context& context)
    : log_(context.log),
      at_(options.number("at")),
      armed_below_(at_ - options.number("hysteresis")),
      then_(options.string("then")) {
  if (armed_below_ <= 0)
    throw Error(ExitCode::kBadRecipe, "memory_guard.hysteresis", context.table,
                "`hysteresis` must be smaller than `at`, or the guard would never be armed again",
                "make it smaller, for example 0.05");
}

void MemoryGuard::window_end(const WindowReport& report, Requests& requests) {
  if (!report.memory || report.last) return;  // the end of the run saves by itself
  judge(report.memory->device(), "device memory", device_crossed_, requests);
  if (report.now < next_machine_) return;
  next_machine_ = report.now + kMachineEvery;
  judge(report.memory->machine(), "memory", machine_crossed_, requests);
}

void MemoryGuard::judge(const MemoryUse& use, const char* what, bool& crossed, Requests& requests) {
  if (use.limit <= 0) return;
  const double share = static_cast<double>(use.used) / static_cast<double>(use.limit);
  if (crossed) {
    crossed = share >= armed_below_;
    return;
  }
  if (share < at_) return;
  crossed = true;
  char figures[120];
  std::snprintf(figures, sizeof figures, " is %.1f %% full: %.1f MiB of the %.1f MiB of ", 100 * share,
                mebibytes(use.used), mebibytes(use.limit));
  const std::string why = "memory guard: " + (what + (figures + use.limited_by));
  log_.warn(why);
  requests.save("guard");
  requests.release_caches();
  if (then_ == "escalate") requests.escalate(why);
  if (then_ == "exit") requests.stop(ExitCode::kStoppedAfterSave, why);
}

}  // namespace holdfast::plugins
