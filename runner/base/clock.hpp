// Time behind an interface: a monotonic one for durations and rates, UTC for what people and files read.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

namespace holdfast::base {

using WallTime = std::chrono::system_clock::time_point;

/// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  /// Since an arbitrary start; never goes back.
  [[nodiscard]] virtual std::chrono::nanoseconds monotonic() const = 0;
  /// May jump when the system clock is set: never subtract two of these.
  [[nodiscard]] virtual WallTime wall() const = 0;
  /// The machine's clocks; lives for ever.
  static Clock& real();
};

/// Moves only when told. For tests.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(WallTime wall = WallTime{}) : wall_(wall) {}
  [[nodiscard]] std::chrono::nanoseconds monotonic() const override {
    const std::lock_guard lock(mutex_);
    return monotonic_;
  }
  [[nodiscard]] WallTime wall() const override {
    const std::lock_guard lock(mutex_);
    return wall_;
  }
  void advance(std::chrono::nanoseconds by) {
    const std::lock_guard lock(mutex_);
    monotonic_ += by;
    wall_ += std::chrono::duration_cast<WallTime::duration>(by);
  }
  /// The operator sets the clock; monotonic time does not notice.
  void set_wall(WallTime wall) {
    const std::lock_guard lock(mutex_);
    wall_ = wall;
  }

 private:
  mutable std::mutex mutex_;
  std::chrono::nanoseconds monotonic_{0};
  WallTime wall_;
};

std::string compact_utc(WallTime time);  ///< 20261130T101500Z
std::string rfc3339_utc(WallTime time);  ///< 2026-11-30T10:15:00.250Z

}  // namespace holdfast::base
