// The end of the polling thread, as something to wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace holdfast::plugins {

/// Any thread.
class Ending {
 public:
  void come() {
    {
      const std::lock_guard lock(mutex_);
      come_ = true;
    }
    changed_.notify_all();
  }
  /// Waits so long at most. True when the end has come.
  bool within(std::chrono::nanoseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return come_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool come_ = false;
};

}  // namespace holdfast::plugins
