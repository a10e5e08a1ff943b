// What some of the micro-batches need of the device's memory. Knows when to look, not what is computed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "device/memory_meter.hpp"
#include "engine/trainer.hpp"

namespace holdfast::engine {

/// Looks at the first micro-batch of a run and at every so many after it. One thread.
class MemorySampler {
 public:
  /// `meter` null or `every` 0: never looks.
  MemorySampler(device::MemoryMeter* meter, std::int64_t every) : meter_(every > 0 ? meter : nullptr), every_(every) {}

  /// A micro-batch, from splitting off to the end of its backward pass; one that fails is looked at as well.
  class Scope {
   public:
    explicit Scope(MemorySampler& sampler) : sampler_(sampler), looks_(sampler.due()) {
      if (looks_) outer_ = sampler_.meter_->open_peak();
    }
    ~Scope() {
      if (looks_) sampler_.add(sampler_.meter_->close_peak(outer_));
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    MemorySampler& sampler_;
    const bool looks_;
    std::int64_t outer_ = 0;
  };

  /// The highest figures since the last call.
  MemorySample take() { return std::exchange(sample_, {}); }

 private:
  [[nodiscard]] bool due() { return meter_ && seen_++ % every_ == 0; }
  void add(std::int64_t peak) {
    const device::MemoryReading now = meter_->reading();
    sample_.allocated = std::max(sample_.allocated, now.allocated);
    sample_.reserved = std::max(sample_.reserved, now.reserved);
    sample_.peak = std::max(sample_.peak, peak);
    ++sample_.micro_batches;
  }

  device::MemoryMeter* meter_;
  std::int64_t every_, seen_ = 0;
  MemorySample sample_;
};

}  // namespace holdfast::engine
