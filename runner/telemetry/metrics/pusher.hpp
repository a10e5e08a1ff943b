// Deliveries on a thread of their own: whoever offers one never waits, and of several the newest goes.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace holdfast::telemetry {

class Pusher {
 public:
  /// `send` delivers one text, on the thread; `told` gets what it returned, there too. Without a thread (none can be
  /// made) finish() delivers.
  Pusher(std::function<std::string(const std::string&)> send, std::function<void(const std::string&)> told);
  /// As finish().
  ~Pusher();
  Pusher(const Pusher&) = delete;
  Pusher& operator=(const Pusher&) = delete;

  /// Replaces what was offered before and is not on its way yet.
  void offer(std::string text);
  /// Delivers what was offered last and ends the thread: waits for at most two deliveries, one that is on its way and
  /// one that was offered. Later offers are ignored.
  void finish();

 private:
  void deliver_until_the_end();
  void deliver(const std::string& text);

  std::function<std::string(const std::string&)> send_;
  std::function<void(const std::string&)> told_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<std::string> waiting_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace holdfast::telemetry
