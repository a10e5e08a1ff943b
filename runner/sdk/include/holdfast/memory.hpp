// How much memory is in use, for hooks that watch it. Torch-free.
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/error.hpp"

namespace holdfast {

/// Bytes of one kind of memory.
struct MemoryUse {
  std::int64_t used = 0;
  std::int64_t limit = 0;     ///< what `used` may not pass; 0: there is none, or it is not known
  std::int64_t reserved = 0;  ///< taken from the system, kept for reuse included; 0 where that is not known
  std::string limited_by;     ///< who sets the limit, in words ("memory.device_budget"); empty without one
};

/// Answers for the moment of the question. Any thread; never throws.
class HOLDFAST_VISIBLE Memory {
 public:
  virtual ~Memory() = default;
  [[nodiscard]] virtual MemoryUse device() const = 0;  ///< tensors on the device. Well under a microsecond.
  [[nodiscard]] virtual MemoryUse host() const = 0;    ///< tensors of the host: batches, data sets. As quick.
  /// The process and its neighbours in the control group that is nearest its limit, without page cache. Reads files:
  /// tens of microseconds, so not for every window.
  [[nodiscard]] virtual MemoryUse machine() const = 0;
};

}  // namespace holdfast
