// `holdfast why RUN_DIR`: the post-mortem of the last stop.
#pragma once

#include <string>

#include "supervise/postmortem.hpp"
#include "supervise/system.hpp"

namespace holdfast::app {

/// Error 66 when `path` is no run home, generation or checkpoint. While the run is up, that is said, and the last
/// post-mortem that was kept follows in the text.
struct Why {
  supervise::Verdict verdict;
  std::string text, json;
};
Why why_of(const supervise::System& system, const std::string& path);

/// Writes the short form to a termination log: the file is truncated or made, never replaced (it may be mounted).
/// Error 73 or 77 when it cannot be written.
void write_termination_log(const std::string& path, const supervise::Verdict& verdict);

}  // namespace holdfast::app
