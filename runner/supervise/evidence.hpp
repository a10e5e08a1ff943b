// Everything that can be found out about the end of an attempt, gathered at one moment. Judges nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "supervise/kernel_log.hpp"
#include "supervise/memory_group.hpp"
#include "supervise/recording.hpp"
#include "supervise/system.hpp"

namespace holdfast::supervise {

/// How the process ended, as its parent saw it.
struct Ending {
  std::int64_t pid = 0;
  int signal = 0;                 ///< 0: it left by itself
  int code = 0;                   ///< exit code, where it left by itself
  std::int64_t max_resident = 0;  ///< bytes (getrusage(2), ru_maxrss)
  bool hung = false;              ///< the parent killed it because there was no progress
};

/// What the run's own files say, read by those who know them.
struct Trace {
  std::string generation;  ///< absolute folder; empty: nothing has run here
  std::string state;       ///< of status.json; empty: it cannot be read
  std::optional<int> exit_code;
  std::string cause;
  std::int64_t pid = 0, update = 0, attempt = 1;
  std::string attempt_at, updated_at, ended_at;
  std::int64_t checkpoint = -1;  ///< update of the newest checkpoint; negative: none
  bool locked = false;           ///< a process holds the run home now
  std::optional<Ending> ending;  ///< only from the parent
};

struct Evidence {
  Trace trace;
  Found<Recording> recording;  ///< of this attempt; broken when the file is another attempt's
  std::string boot_id;
  Found<MemoryGroup> group;
  Found<std::int64_t> system_kills;
  Found<std::vector<KernelEvent>> kernel;  ///< since the attempt began
  Found<Room> output, shm;
  Found<GpuReport> gpu;
  Found<std::string> driver;  ///< version of the kernel's NVIDIA driver
  Found<std::string> stacks;  ///< stacks.txt of this process
  std::int64_t wall = 0;
};

inline constexpr const char* kRecorderFile = "recorder.bin";
inline constexpr const char* kStacksFile = "stacks.txt";

/// Reads, waits for nothing, changes nothing.
Evidence collect(const System& system, Trace trace);

/// "550.54.15" from /proc/driver/nvidia/version; empty when the text has no version.
std::string driver_version(std::string_view text);

}  // namespace holdfast::supervise
