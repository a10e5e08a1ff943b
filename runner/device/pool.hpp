// One memory domain: counts every byte, refuses what is over the budget, keeps freed blocks for the next use.
// Knows no LibTorch.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <new>

#include "device/arena.hpp"
#include "device/domain.hpp"
#include "device/memory_meter.hpp"

namespace holdfast::device {

/// Over the budget, or the system gives no more. Carries its sentence without needing memory.
class MemoryExhausted : public std::bad_alloc {
 public:
  /// `free` and `budget` of a domain with a budget; budget 0: the system refused, `held` bytes are in use.
  MemoryExhausted(Domain domain, std::int64_t wanted, std::int64_t held, std::int64_t budget);
  /// "device memory: wanted 40.0 MiB, free 12.3 MiB of the budget of 512.0 MiB"
  [[nodiscard]] const char* what() const noexcept override { return text_.data(); }
  [[nodiscard]] bool over_budget() const noexcept { return over_budget_; }

 private:
  std::array<char, 192> text_{};
  bool over_budget_;
};

/// All members may be called from any thread. Sizes are counted as asked for, so that `allocated`, `peak` and what
/// meets the budget follow from the sequence of allocations alone; rounding (size_class.hpp), headers (64 bytes a
/// block) and kept blocks show in `reserved`. More is taken from the system only when nothing kept fits; beyond 5/4 of
/// the peak (plus 32 MiB) kept blocks are joined and given back first.
class alignas(64) Pool final : public MemoryMeter {
 public:
  Pool(Domain domain, Pages& pages);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  /// Everything must have been freed.
  ~Pool() override;

  /// Aligned to 64 bytes, content unspecified; null for 0 bytes. Throws MemoryExhausted and leaves all as it was.
  void* allocate(std::size_t bytes);
  /// Any pool's memory, from any thread; null is ignored.
  static void free(void* data) noexcept;

  /// 0: no limit. What is allocated already stays.
  void set_budget(std::int64_t bytes) noexcept;
  /// Joins kept blocks and gives back to the system what is free.
  void release() noexcept;
  /// Fault injection: the n-th allocation from now (1: the next) is refused as one over the budget. 0: none.
  void refuse_after(std::int64_t n) noexcept;

  [[nodiscard]] MemoryReading reading() const noexcept override;
  std::int64_t open_peak() noexcept override;
  std::int64_t close_peak(std::int64_t outer) noexcept override;

  /// Around fork(2), so that the child finds the pool in order.
  void lock() noexcept { mutex_.lock(); }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  using Figure = std::atomic<std::int64_t>;  // written under the mutex only, read by anyone

  Block* refill(std::size_t bytes, std::size_t index) noexcept;
  Block* grown(Arena& arena, std::size_t needed, bool lean) noexcept;
  void drain() noexcept;
  void release_locked() noexcept;
  [[nodiscard]] Arena& arena_of(const Block& block) noexcept;
  void put_back(Block* block) noexcept;

  std::mutex mutex_;
  std::int64_t refuse_in_ = 0;
  const Domain domain_;
  Figure allocated_ = 0, peak_ = 0, limit_ = std::numeric_limits<std::int64_t>::max(), allocations_ = 0;
  Figure highest_ = 0, reserved_ = 0, forbidden_ = 0;
  std::array<Block*, kSizeClasses> kept_{};
  Arena small_, large_;
};

}  // namespace holdfast::device
