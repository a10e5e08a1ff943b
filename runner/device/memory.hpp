// How much memory is in use, behind an interface so that tests can say so; and what freed blocks are kept for reuse.
#pragma once

#include <cstdint>

namespace holdfast::device {

struct MemoryFigures {
  std::int64_t resident_bytes = 0;       ///< of the process, now
  std::int64_t peak_resident_bytes = 0;  ///< of the process, ever
};

class MemoryProbe {
 public:
  virtual ~MemoryProbe() = default;
  /// Never throws; a figure that cannot be read is 0. A few microseconds.
  [[nodiscard]] virtual MemoryFigures read() const = 0;
};

/// Reads /proc/self/statm and getrusage.
class ProcessMemory : public MemoryProbe {
 public:
  [[nodiscard]] MemoryFigures read() const override;
};

/// Gives cached device memory, and free heap pages of the process, back.
void release_caches();

/// From now on the C allocator keeps the blocks that a step frees and reuses them in the next one (up to 1 GiB at the
/// top of the heap). By default it hands large ones back to the system each time, and a step pays the page faults.
/// Once, before training. release_caches() still returns them.
void keep_freed_memory();

}  // namespace holdfast::device
