// Each look is a sign of life; whatever stops the run, the service manager hears of it with the next one.
#include "app/worker/stop.hpp"

#include <algorithm>
#include <cstdio>

#include "app/worker/flight.hpp"

namespace holdfast::app {

std::optional<Deadline> deadline(std::optional<Duration> max_wall_time, Duration grace,
                                 std::chrono::nanoseconds began) {
  if (!max_wall_time) return std::nullopt;
  const Duration limit = *max_wall_time, early = std::min<Duration>(grace, limit / 10);
  char seconds[40];
  std::snprintf(seconds, sizeof seconds, "%g s", std::chrono::duration<double>(limit).count());
  return Deadline{began + limit - early, "run.max_wall_time of " + std::string(seconds) + " is nearly over"};
}

const std::string* OutsideStop::asked() const {
  if (auto* recorder = flight()) recorder->beat();
  const std::string* reason = why();
  reason == nullptr ? service_.alive() : service_.stopping(*reason);
  return reason;
}

const std::string* OutsideStop::why() const {
  if (const std::string* signal = watcher_.asked()) return signal;
  return deadline_ && clock_.monotonic() >= deadline_->at ? &deadline_->why : nullptr;
}

}  // namespace holdfast::app
