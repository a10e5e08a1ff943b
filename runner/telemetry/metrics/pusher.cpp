// A slot for one text and a thread that empties it.
#include "telemetry/metrics/pusher.hpp"

#include <exception>
#include <system_error>
#include <utility>

#include "base/signal.hpp"

namespace holdfast::telemetry {

Pusher::Pusher(std::function<std::string(const std::string&)> send, std::function<void(const std::string&)> told)
    : send_(std::move(send)), told_(std::move(told)) {
  const base::SignalsBlocked quiet;
  try {
    thread_ = std::thread([this] { deliver_until_the_end(); });
  } catch (const std::system_error&) {  // finish() delivers then
  }
}

Pusher::~Pusher() { finish(); }

void Pusher::offer(std::string text) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    waiting_ = std::move(text);
  }
  wake_.notify_one();
}

void Pusher::finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) return thread_.join();
  if (const auto left = std::exchange(waiting_, std::nullopt)) deliver(*left);
}

void Pusher::deliver_until_the_end() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return ending_ || waiting_; });
    const auto text = std::exchange(waiting_, std::nullopt);
    if (!text) return;
    lock.unlock();
    deliver(*text);
    lock.lock();
  }
}

void Pusher::deliver(const std::string& text) {
  try {
    told_(send_(text));
  } catch (const std::exception& failure) {
    told_(failure.what());
  }
}

}  // namespace holdfast::telemetry
