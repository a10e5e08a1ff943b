// Why an attempt stopped: the judgement on its evidence. Pure; reads no file and no clock.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervise/cause.hpp"
#include "supervise/evidence.hpp"

namespace holdfast::supervise {

/// established: the sources say so and no other cause fits them. likely: they fit it better than any other. unknown:
/// the cause named is the least that can be said.
enum class Certainty { kEstablished, kLikely, kUnclear };
std::string_view certainty_name(Certainty certainty);

struct Verdict {
  Cause cause = Cause::kNone;
  Certainty certainty = Certainty::kEstablished;
  int exit_code = 0;
  int signal = 0;                     ///< that ended the process, where it is known
  std::string sentence;               ///< one line: what happened
  std::vector<std::string> evidence;  ///< each with its source
  std::vector<std::string> unread;    ///< sources that gave nothing, and why
  std::string advice;
  std::int64_t pid = 0, attempt = 0, update = -1, checkpoint = -1;
  std::string generation, phase, state, last_seen;  ///< last_seen: RFC 3339, of the last record
};

Verdict judge(const Evidence& evidence);

}  // namespace holdfast::supervise
