// How much memory each phase or segment needs, by differences at the edges of scopes. Knows names, not what they mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/memory_meter.hpp"

namespace holdfast::device {

struct PhaseFigures {
  std::string name;
  std::int64_t times = 0;
  std::int64_t peak = 0;  ///< highest `allocated` inside, of all times
  std::int64_t rise = 0;  ///< largest peak above what was allocated on entry
  std::int64_t kept = 0;  ///< allocated at the last exit minus on its entry: what the phase left behind
};

/// Scopes nest and belong to one thread; what other threads allocate meanwhile counts as well.
class PhaseMemory {
 public:
  explicit PhaseMemory(MemoryMeter& meter) : meter_(meter) {}

  /// Ends the phase when it goes. Without a recorder (null) it costs a comparison.
  class Scope {
   public:
    Scope(PhaseMemory* memory, std::string_view name) : memory_(memory) {
      if (memory_) begin(name);
    }
    ~Scope() {
      if (memory_) end();
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    void begin(std::string_view name);
    void end() noexcept;

    PhaseMemory* const memory_;
    std::size_t row_ = 0;
    std::int64_t entry_ = 0, outer_ = 0;
  };

  /// One row a name, in the order of first entry. A phase shows once it has ended.
  [[nodiscard]] const std::vector<PhaseFigures>& figures() const { return rows_; }
  /// Forgets all rows. Not inside a scope.
  void clear() { rows_.clear(); }

 private:
  MemoryMeter& meter_;
  std::vector<PhaseFigures> rows_;
};

}  // namespace holdfast::device
