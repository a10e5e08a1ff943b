// One line that says how far a run is. Pure: a snapshot and a width in, text out; draws nothing itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::telemetry {

struct Snapshot {
  std::string run;
  std::int64_t update = 0, total = 0;  ///< total 0: not known
  std::int64_t epoch = 0;              ///< 0-based
  std::int64_t epochs = 0;             ///< 0: not known
  std::optional<double> loss;          ///< mean since the last line
  double updates_per_second = 0;       ///< 0: not known yet
  std::int64_t memory_bytes = 0;
};

/// Seconds to the target at the present rate; empty when it cannot be said.
std::optional<double> seconds_left(const Snapshot&);

/// For a terminal of `width` columns: name, bar, and as many facts as fit. Never wider than `width` - 1. UTF-8.
std::string progress_bar(const Snapshot&, int width);

/// For logs and pipes: "update 1200/3600 (33 %), epoch 4/10, loss 0.1234, 850 updates/s, 2 min 49 s left, 312 MiB".
std::string progress_sentence(const Snapshot&);

}  // namespace holdfast::telemetry
