// How the attempts at a run's home ended, over all its generations: outcomes.json in the home. Metrics count from 0 in
// each process; these counts go on. Knows no metric, and no cause: those are the post-mortem's.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "holdfast/exit_code.hpp"

namespace holdfast::telemetry {

struct Outcomes {
  /// Attempts that ended, by outcome: succeeded, failed, preempted (stopped after saving), interrupted (no word left).
  std::map<std::string, std::int64_t, std::less<>> attempts;
  std::int64_t last_success = 0;  ///< Unix seconds; 0: never

  void count(ExitCode code, std::int64_t now);
  void count_interrupted();
};

/// Reads what is known, counts the attempt before this one where it left without saying so (its status then tells how;
/// without one it counts as interrupted), and writes down that an attempt has begun. Called by the process that holds
/// the home's lock. A file that cannot be read counts from 0, one that cannot be written is left as it is.
Outcomes begin_attempt(const std::string& home, const std::string& generation) noexcept;

/// The same process at its end: counts its own outcome. Gives the counts as written, or as they would have been.
Outcomes end_attempt(const std::string& home, Outcomes outcomes, ExitCode code, std::int64_t now) noexcept;

}  // namespace holdfast::telemetry
