// The standard process_* metrics, from /proc/self. Private to this folder.
#pragma once

#include <optional>
#include <string_view>

#include "telemetry/metrics/family.hpp"

namespace holdfast::telemetry {

struct ProcessReading {
  std::optional<double> cpu_seconds, start_seconds, virtual_bytes, resident_bytes, open_fds, max_fds, threads;
};

/// Of the running process; what cannot be read is absent.
ProcessReading read_process();
/// Fields of /proc/self/stat (proc(5)); `ticks` a second, `page` bytes, `boot` Unix time of the machine's start.
ProcessReading parse_process_stat(std::string_view stat, double ticks, double page, double boot);

/// Sets the gauges, and moves the counter of CPU time on by what came since the last call. One thread at a time.
class ProcessMetrics {
 public:
  explicit ProcessMetrics(Families& families) : families_(families) {}
  void sample();

 private:
  Families& families_;
  double cpu_seconds_ = 0;
};

}  // namespace holdfast::telemetry
