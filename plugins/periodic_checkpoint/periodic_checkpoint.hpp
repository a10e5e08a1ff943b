// The hook "periodic_checkpoint": asks for a save every so many updates, epochs or minutes. Writes nothing itself.
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/hook.hpp"

namespace holdfast::plugins {

/// Needs no state over a resume: updates and epochs lie on a fixed grid (every = "500 updates": 500, 1000, ...), time
/// counts from the last save of whatever cause, or from the start of the process. Ticks missed while the loop was busy
/// are made up by one save at the next window edge. The last window is left to the save at the end of the run.
class PeriodicCheckpoint : public Hook {
 public:
  static void declare(OptionTable& options);
  PeriodicCheckpoint(const Options& options, const Context& context);

  void run_begin(const RunFacts& facts) override;
  void window_end(const WindowReport& report, Requests& requests) override;
  void save_end(const SaveReport& report) override;

 private:
  [[nodiscard]] bool due(const WindowReport& report);

  Interval every_;
  std::string why_;
  std::int64_t last_tick_ = 0;  ///< of the update grid
  Duration next_{};
};

}  // namespace holdfast::plugins
