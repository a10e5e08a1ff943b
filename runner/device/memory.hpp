// How much memory is in use, behind an interface so that tests can say so.
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

}  // namespace holdfast::device
