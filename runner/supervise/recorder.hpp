// The flight recorder of a run: recorder.bin, preallocated, written so that it tells the last update even after
// SIGKILL. Knows no engine: whoever watches the loop tells it.
//
// On a local file system the file is mapped, and a record is in it as soon as the call returns. Elsewhere (NFS, SMB,
// FUSE and other distant or unknown servers) a fault of the server must not stop the loop: there the recorder's thread
// writes what changed, four times a second.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "supervise/record.hpp"

namespace holdfast::supervise {

enum class Placement { kByFileSystem, kMapped, kWritten };

struct RecorderOptions {
  Placement placement = Placement::kByFileSystem;
  std::chrono::milliseconds every{1000};  ///< between samples
  /// Fills in what can be known now. Called once by open(), then on the recorder's thread; must not throw.
  std::function<void(Sample&)> sample;
  /// Called with each sample, on the same thread, after it was recorded.
  std::function<void()> tick;
};

/// Calls never throw, allocate or wait for the disk. One thread trains (window, sign, shortage, beat); stop() may come
/// from another one; fatal() is async-signal-safe.
class Recorder {
 public:
  /// Makes the file anew and starts the thread; null when it cannot be had, and `why` then says so in a sentence.
  static std::unique_ptr<Recorder> open(const std::string& path, const Attempt& attempt, RecorderOptions options,
                                        std::string& why);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The window that ended: its place and loss. A dropped one has no loss and counts as dropped.
  void window(std::int64_t update, std::int64_t window, std::int64_t epoch, std::int64_t samples_seen, double loss,
              bool applied) noexcept;
  /// What would have become this update was a sign of divergence. After window() of it.
  void diverged(std::int64_t update) noexcept;
  void sign(Phase phase, Sign sign) noexcept;
  /// The training thread lives, and has nothing else to say.
  void beat() noexcept;
  void shortage(std::int64_t update, std::int64_t micro_batch, std::string_view phase, std::string_view action,
                std::string_view text) noexcept;
  void stop(std::string_view why) noexcept;
  void fatal(const Fatal& fault) noexcept;
  /// Stops the thread; what is told later is still recorded where the file is mapped. Once.
  void finish() noexcept;

 private:
  struct Impl;
  explicit Recorder(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

/// CLOCK_MONOTONIC and CLOCK_REALTIME in nanoseconds. Async-signal-safe.
std::int64_t monotonic_ns() noexcept;
std::int64_t wall_ns() noexcept;

}  // namespace holdfast::supervise
