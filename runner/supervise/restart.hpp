// Whether a run that ended is started again, and when: the last column of the table of exit codes, and patience. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "supervise/verdict.hpp"

namespace holdfast::supervise {

struct RestartSettings {
  std::int64_t max_restarts = 5;  ///< in a row without a newer checkpoint
  std::chrono::nanoseconds backoff = std::chrono::seconds(10);
};

struct Decision {
  bool restart = false;
  std::chrono::nanoseconds wait{};
  std::string why;  ///< a clause for people
};

/// Counts tries since the last progress. Progress is a checkpoint with a higher update than any before: a mere start
/// resets nothing. The wait doubles with each try without progress, up to five minutes or the first wait, whichever is
/// longer.
class RestartPolicy {
 public:
  /// `checkpoint`: update of the newest one before the first start; negative: none.
  RestartPolicy(RestartSettings settings, std::int64_t checkpoint) : settings_(settings), checkpoint_(checkpoint) {}
  Decision after(const Verdict& verdict, std::int64_t checkpoint);

 private:
  RestartSettings settings_;
  std::int64_t checkpoint_;
  std::int64_t tries_ = 0;
};

}  // namespace holdfast::supervise
