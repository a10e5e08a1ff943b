// The figures around a process for its recorder: control group, pressure, memory, room. On the recorder's thread alone.
#pragma once

#include <memory>
#include <string>

#include "supervise/nvml.hpp"
#include "supervise/record.hpp"
#include "supervise/system.hpp"

namespace holdfast::supervise {

class Surroundings {
 public:
  /// `folder`: where the run writes. `system` outlives this object. `gpu`: ask NVML too.
  Surroundings(const System& system, std::string folder, bool gpu);
  /// What held at the beginning: identity of boot and host, limits, counters. Number, device and version are the
  /// caller's.
  [[nodiscard]] Attempt attempt() const;
  /// All that can be had; the rest stays kUnknown.
  void sample(Sample& into);

 private:
  const System& system_;
  std::string folder_, group_;
  std::unique_ptr<GpuWatch> gpu_;
};

/// The id of this boot; empty where the kernel does not tell.
std::string boot_id(const System& system);

/// Hundredths of a percent from a pressure file's "some" or "full" line, avg10 (Documentation/accounting/psi.rst);
/// kUnknown without it.
std::int64_t pressure(const System& system, const std::string& path, std::string_view line);

}  // namespace holdfast::supervise
