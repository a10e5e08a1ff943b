// What is on disk of a run's last attempt, and the post-mortem made of it: shared by `holdfast why`, the supervisor and
// the next attempt, so that all of them say the same.
#pragma once

#include <map>
#include <string>

#include "supervise/postmortem.hpp"
#include "supervise/system.hpp"

namespace holdfast::app {

/// Status, newest checkpoint and lock of the current generation of `path` (a home, generation or checkpoint). Without a
/// generation the trace is empty.
supervise::Trace trace_of(const std::string& path);

/// The verdict on the attempt that the trace tells of: the one kept when it died, where there is one of that process
/// (its parent knew more), else judged now.
supervise::Verdict verdict_on(const supervise::System& system, const supervise::Trace& trace);

/// Keeps the verdict on an attempt that is over (postmortem.json of its generation) and counts it in failures.json of
/// the home; does nothing for one that is already kept, and for what is no failure. Never throws.
void settle(const supervise::System& system, const supervise::Trace& trace) noexcept;
void settle(const supervise::Verdict& verdict) noexcept;

/// failures.json: failures by cause and restarts by cause since the home began. Unreadable is empty.
struct Failures {
  std::map<std::string, std::int64_t> failures, restarts;
};
Failures read_failures(const std::string& home);
/// One restart more, for this cause. Never throws.
void count_restart(const std::string& home, std::string_view cause) noexcept;

}  // namespace holdfast::app
