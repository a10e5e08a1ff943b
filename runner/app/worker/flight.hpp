// The flight recorder of the process's one run, reachable from where nothing may be passed: signal handlers and the
// watcher's thread. Knows no engine.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "supervise/recorder.hpp"

namespace holdfast::app {

struct FlightSettings {
  std::string folder;  ///< the generation
  int attempt = 1;
  std::string device, version;
  std::int64_t hang_seconds = 0;
  std::int64_t supervisor = 0;  ///< its pid; 0: none
  bool gpu = false;             ///< ask NVML with each sample
  /// Adds figures of the allocator; called on the recorder's thread.
  std::function<void(supervise::Sample&)> memory;
};

/// Starts the recorder; a warning where it cannot be had. Under a supervisor its thread also ends the process when the
/// supervisor has died and a stop takes longer than two seconds: nobody would be left to end it.
void begin_flight(FlightSettings settings, base::RunLog& log);
/// Stops its thread; the file stays. Nothing where there is none.
void end_flight() noexcept;

/// Null where there is none. Any thread.
supervise::Recorder* flight() noexcept;

/// The supervisor that started this process; 0 where nobody did (one that a supervised run started inherits the name in
/// its environment, not the parent).
std::int64_t supervisor_of_this_process();

/// Handles supervise::stack_signal(): the thread that gets it appends its stack to stacks.txt of the run, where that
/// file is. Once, in main.
void answer_stack_requests();

/// What a crash handler knows: recorded with the name of the mapping that the address lies in. Async-signal-safe.
void record_fault(int signal, int code, const void* address) noexcept;

}  // namespace holdfast::app
