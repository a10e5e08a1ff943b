// The table is base/exit_codes.cpp; here it is acted on.
#include "supervise/restart.hpp"

#include <algorithm>

namespace holdfast::supervise {
namespace {

constexpr std::chrono::nanoseconds kLongestWait = std::chrono::minutes(5);

/// Empty where the table says to start again; otherwise why not.
std::string why_not(const Verdict& at) {
  switch (static_cast<ExitCode>(at.exit_code)) {
    case ExitCode::kOk:
      return "the target is reached";
    case ExitCode::kStoppedAfterSave:
      if (at.cause == Cause::kGuard || at.cause == Cause::kReboot) return {};
      return "a stop was asked for";
    case ExitCode::kBug:
      return at.cause == Cause::kCrash ? "" : "the same would happen again";
    case ExitCode::kUnavailable:
    case ExitCode::kCannotCreate:
    case ExitCode::kIoError:
    case ExitCode::kHang:
    case ExitCode::kDeviceFault:
    case ExitCode::kSharedMemory:
    case ExitCode::kKilled:
    case ExitCode::kStoppedWithoutSave:
    case ExitCode::kHostOutOfMemory:
      return {};
    default:
      return "the same would happen again";
  }
}

}  // namespace

Decision RestartPolicy::after(const Verdict& verdict, std::int64_t checkpoint) {
  if (checkpoint > checkpoint_) {
    checkpoint_ = checkpoint;
    tries_ = 0;
  }
  Decision decision;
  decision.why = why_not(verdict);
  if (!decision.why.empty()) return decision;
  if (++tries_ > settings_.max_restarts) {
    decision.why = std::to_string(settings_.max_restarts) + " restarts without a newer checkpoint";
    return decision;
  }
  decision.restart = true;
  decision.wait = settings_.backoff;
  const auto longest = std::max(settings_.backoff, kLongestWait);
  for (std::int64_t i = 1; i < tries_ && decision.wait < longest; ++i)
    decision.wait = std::min(longest, 2 * decision.wait);
  decision.why = "restart " + std::to_string(tries_) + " of " + std::to_string(settings_.max_restarts) +
                 " without a newer checkpoint";
  return decision;
}

}  // namespace holdfast::supervise
