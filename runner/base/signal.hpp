// Stop requests by signal: SIGINT, SIGTERM, SIGHUP and SIGXCPU as a flag with a text. Knows nothing of checkpoints
// beyond "one was completed since".
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>

#include "holdfast/exit_code.hpp"

namespace holdfast::base {

/// Those of SIGINT, SIGTERM and SIGHUP that stop this process: one that was ignored when it started (nohup, a shell's
/// background job) stays ignored. Blocked, it would be queued all the same.
sigset_t stop_signals();
/// First thing in main, before any thread exists: blocks stop_signals() and SIGXCPU in this and all later threads, so
/// that only the watcher takes them, and ignores SIGPIPE and SIGXFSZ (a closed pipe and a file-size limit are then
/// errors of write).
void block_signals();
/// Undoes block_signals in a child between fork and exec. Async-signal-safe.
void restore_signals();

/// While it lives, this thread takes no signal but those of its own faults (SIGSEGV, SIGBUS, ...), and threads that are
/// made meanwhile never will: for the threads that serve and write beside a run.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

/// Takes the signals on a thread of its own. One at a time in a process, after block_signals().
///
/// The first signal sets the flag. A second one leaves at once, by _exit without unwinding: code 75 when note_saved()
/// was called after the first, otherwise 87 (stopped without a checkpoint). One that arrives within 100 ms of the first
/// is the same request: timeout(1) and Slurm signal both the process and its group. SIGXCPU, which the kernel repeats,
/// is never a second one.
///
/// With a grace time the process leaves in the same way shortly before that time after the first signal is over (by a
/// tenth of it, at most 1 s), but not while a checkpoint is being written: being killed then loses no more.
class SignalWatcher {
 public:
  /// `on_first` runs once, on the watcher's thread; it must not throw. Throws std::system_error without descriptors or
  /// threads.
  /// `on_second` runs before the process leaves, with the reason and the exit code; no exception, no waiting.
  explicit SignalWatcher(std::function<void(const std::string&)> on_first = {},
                         std::function<void(const std::string&, ExitCode)> on_second = {});
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

  /// Null until the first signal, then "SIGTERM from pid 123", or "SIGINT from the terminal". Stays valid as long as
  /// the watcher. Any thread, cheap: one atomic load.
  [[nodiscard]] const std::string* asked() const noexcept;
  /// Before the first signal: how long after it somebody may kill this process. Any thread.
  void set_grace(std::chrono::milliseconds grace) noexcept;
  /// A checkpoint that the stop waits for is being written. Any thread; pairs.
  void begin_saving() noexcept;
  void end_saving() noexcept;
  /// A checkpoint of the present state is in place; a second signal now loses nothing. Any thread.
  void note_saved() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::base
