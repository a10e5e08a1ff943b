// When silence is a hang: compares the recorder's heartbeat with a limit for each phase. Pure; the caller has the
// clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "supervise/recording.hpp"

namespace holdfast::supervise {

/// What can be seen of a worker from outside.
struct Look {
  bool begun = false;          ///< its status.json says that it trains
  std::optional<Pulse> pulse;  ///< of its recorder; none: not there yet, or it could not be made
};

/// A training or evaluating thread that gives no sign for `limit` hangs. Starting, saving and ending have no signs
/// within them and may take three times as long. A worker that trains without a recorder is not judged.
class Watchdog {
 public:
  Watchdog(std::chrono::nanoseconds limit, std::int64_t now) : limit_(limit), progress_(now) {}

  /// Why it hangs; none while it does not. `now`: nanoseconds of a monotonic clock.
  std::optional<std::string> judge(const Look& look, std::int64_t now);
  /// The judge itself stood still (suspended, or stopped by SIGSTOP): the time until now does not count.
  void forgive(std::int64_t now) { progress_ = now; }

 private:
  std::chrono::nanoseconds limit_;
  std::int64_t progress_;
  std::int64_t beats_ = -1;
};

}  // namespace holdfast::supervise
