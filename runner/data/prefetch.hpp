// Items made ahead of use by background threads and handed out in order. Knows nothing of what the items are.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::data {

/// Threads of this process that were left behind because what they call does not return. What they use (a data set)
/// must not be destroyed: such a process ends without.
inline std::atomic<int> threads_left_behind{0};

/// Yields make(first), make(first + 1), ... make(last - 1). How many threads make them changes neither content nor
/// order. An exception of make(n) is thrown by the call of `next` that would have returned item n, and ends the series.
/// `next` belongs to one thread; `make` is called from several threads at once.
template <class T>
class Prefetch {
 public:
  struct Range {
    std::int64_t first = 0, last = 0;
  };
  using Make = std::function<T(std::int64_t)>;

  /// At most `depth` items exist at a time, those in the making included. No threads: `next` makes the item itself.
  /// `begin_thread` runs first on each thread.
  Prefetch(Range range, int threads, int depth, Make make, std::function<void()> begin_thread = {})
      : range_(range),
        slots_(static_cast<std::size_t>(std::max(depth, 1))),
        make_(std::move(make)),
        claimed_(range.first),
        taken_(range.first),
        released_(range.first) {
    running_ = threads;
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this, begin_thread] {
        if (begin_thread) begin_thread();
        work();
        const std::lock_guard lock(mutex_);
        --running_;
        filled_.notify_all();
      });
  }
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;
  /// Returns once the items in the making are finished.
  ~Prefetch() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    room_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  /// Ends the series and waits for the items in the making, but no longer than `patience`. False: some are still being
  /// made; their threads count as left behind, and this object must live for ever.
  bool stop_within(std::chrono::nanoseconds patience) {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    room_.notify_all();
    if (filled_.wait_for(lock, patience, [this] { return running_ == 0; })) return true;
    threads_left_behind += running_;
    return false;
  }

  [[nodiscard]] bool done() const { return taken_ >= range_.last; }

  /// The next item; waits for it. Not to be called when done().
  T next() {
    return *next([] { return false; });
  }
  /// The same; empty, and nothing taken, when the item is not there and `stopped()` says so, which is asked a few times
  /// a second.
  template <class Stopped>
  std::optional<T> next(const Stopped& stopped) {
    if (threads_.empty()) return make_(taken_++);
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[slot_of(taken_)];
    while (!filled_.wait_for(lock, kLook, [&slot] { return slot.value.has_value() || slot.failure; }))
      if (stopped()) return std::nullopt;
    if (slot.failure) {
      stopped_ = true;
      room_.notify_all();
      std::rethrow_exception(slot.failure);
    }
    std::optional<T> item(std::move(*slot.value));
    slot.value.reset();
    ++taken_;
    release(lock);
    return item;
  }

 private:
  static constexpr std::chrono::milliseconds kLook{50};
  struct Slot {
    std::optional<T> value;
    std::exception_ptr failure;
  };
  [[nodiscard]] std::size_t slot_of(std::int64_t number) const {
    return static_cast<std::size_t>(number - range_.first) % slots_.size();
  }

  // A wake-up costs more than a small batch. So room is given back by halves of the ring: makers sleep through many
  // hand-overs and then work through half a ring in one go.
  void release(std::unique_lock<std::mutex>& lock) {
    const auto stride = std::max<std::int64_t>(1, static_cast<std::int64_t>(slots_.size()) / 2);
    if (taken_ - released_ < stride) return;
    released_ = taken_;
    lock.unlock();
    room_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto depth = static_cast<std::int64_t>(slots_.size());
      room_.wait(lock, [&] { return stopped_ || claimed_ >= range_.last || claimed_ < released_ + depth; });
      if (stopped_ || claimed_ >= range_.last) return;
      const std::int64_t number = claimed_++;
      lock.unlock();
      Slot made = attempt(number);
      lock.lock();
      const bool awaited = number == taken_;
      slots_[slot_of(number)] = std::move(made);
      if (awaited) filled_.notify_one();
    }
  }

  Slot attempt(std::int64_t number) {
    Slot slot;
    try {
      slot.value.emplace(make_(number));
    } catch (...) {
      slot.failure = std::current_exception();
    }
    return slot;
  }

  const Range range_;
  std::vector<Slot> slots_;
  const Make make_;
  std::mutex mutex_;
  std::condition_variable room_, filled_;
  std::int64_t claimed_, taken_, released_;  // guarded by mutex_ while there are threads
  bool stopped_ = false;
  int running_ = 0;                   ///< threads
  std::vector<std::thread> threads_;  // last member: threads see all others constructed
};

}  // namespace holdfast::data
