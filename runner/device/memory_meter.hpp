// What a memory domain holds, as figures. An interface, so that tests can say so and CUDA can answer with its own.
#pragma once

#include <cstdint>

namespace holdfast::device {

struct MemoryReading {
  std::int64_t allocated = 0;    ///< bytes that tensors asked for and still hold; what meets the budget
  std::int64_t reserved = 0;     ///< bytes taken from the system: allocated, rounding, and what is kept for reuse
  std::int64_t peak = 0;         ///< highest `allocated` so far
  std::int64_t budget = 0;       ///< limit of `allocated`; 0: none
  std::int64_t allocations = 0;  ///< served so far
  std::int64_t forbidden = 0;    ///< of these, inside a NoAllocationScope
};

class MemoryMeter {
 public:
  virtual ~MemoryMeter() = default;
  /// From any thread, a few nanoseconds, never waits. The figures are each true, if not all of one instant.
  [[nodiscard]] virtual MemoryReading reading() const noexcept = 0;
  /// Begins to look for a peak from here; returns what close_peak() wants back. Pairs nest. One thread at a time.
  virtual std::int64_t open_peak() noexcept = 0;
  /// The highest `allocated` since the open_peak() that returned `outer`.
  virtual std::int64_t close_peak(std::int64_t outer) noexcept = 0;
};

}  // namespace holdfast::device
