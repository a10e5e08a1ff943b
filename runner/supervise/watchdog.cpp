// One comparison of counters.
#include "supervise/watchdog.hpp"

#include "base/text.hpp"

namespace holdfast::supervise {

std::optional<std::string> Watchdog::judge(const Look& look, std::int64_t now) {
  Phase phase = Phase::kStarting;
  if (look.pulse && look.pulse->live) {
    phase = look.pulse->live->phase;
    if (look.pulse->live->beats != beats_) {
      beats_ = look.pulse->live->beats;
      progress_ = now;
    }
  } else if (look.begun) {
    progress_ = now;
  }
  const bool watched = phase == Phase::kTraining || phase == Phase::kEvaluating;
  const auto limit = watched ? limit_ : 3 * limit_;
  if (now - progress_ <= limit.count()) return std::nullopt;
  return "no sign of progress for " + base::human_duration(static_cast<double>(now - progress_) * 1e-9) + " while " +
         std::string(phase_name(phase));
}

}  // namespace holdfast::supervise
