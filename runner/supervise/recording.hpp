// recorder.bin read back: whatever the file holds, an answer of bounded size. Knows nothing of causes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "supervise/record.hpp"
#include "supervise/source.hpp"

namespace holdfast::supervise {

struct Recording {
  Attempt attempt;
  std::optional<Live> live;
  std::optional<Shortage> shortage;
  std::optional<Stop> stop;
  std::optional<Fatal> fatal;
  std::vector<Sample> samples;  ///< oldest first, at most kSamples
};

/// Absent when there is no such file; forbidden when it may not be read; broken, with the reason, when it is no record
/// of this version. Never follows a link, never waits. A file that is being written is read as it stands: of each value
/// the newest whole copy.
Found<Recording> read_recording(const std::string& path);

/// Only where the training thread is, and what stop was asked for; for looking often.
struct Pulse {
  std::int64_t pid = 0, hang_seconds = 0;
  std::optional<Live> live;
  std::optional<Stop> stop;
};
Found<Pulse> read_pulse(const std::string& path);

}  // namespace holdfast::supervise
