// `holdfast checkpoint RUN_DIR`: asks the process that works on a run for a checkpoint, and waits for its answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::app {

/// What came of it. Error 66 when there is no run, no process works on it, or it ended without an answer; 74 when the
/// checkpoint could not be written.
struct RequestOutcome {
  bool pending = false;  ///< no answer within the time
  std::int64_t update = 0;
  std::string path;  ///< of the checkpoint, absolute
};
RequestOutcome request_checkpoint(const std::string& path, std::chrono::milliseconds patience);

std::string request_text(const RequestOutcome&, std::chrono::milliseconds patience);
std::string request_json(const RequestOutcome&);

}  // namespace holdfast::app
