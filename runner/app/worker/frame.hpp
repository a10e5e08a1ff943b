// What outlives a command's own work: the stop requests, the log, and the signs of life that main ends when an error
// comes up to it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "base/signal.hpp"
#include "telemetry/life_signs.hpp"
#include "telemetry/metrics/exporter.hpp"
#include "telemetry/metrics/run_metrics.hpp"
#include "telemetry/outcomes.hpp"

namespace holdfast::app {

struct Frame {
  base::RunLog& log;
  base::SignalWatcher& watcher;
  /// While true a stop request ends the process at once: nothing has been begun that could be lost.
  std::atomic<bool>& preparing;
  std::unique_ptr<telemetry::LifeSigns> signs;  ///< from the start of training on
  std::string generation;                       ///< its folder, from the start of training on
  std::string home;                             ///< of the run, from the start of training on
  telemetry::Outcomes outcomes;                 ///< of the attempts before this one
  std::string run_log;                          ///< path of run.log once it is open
  bool json_log = false;
  std::unique_ptr<telemetry::RunMetrics> metrics = {};  ///< of a run, from before its components are made
  std::unique_ptr<telemetry::Exporter> exporter = {};   ///< from the start of training on

  /// The last word of a run to everyone who listens; nothing where none has begun. Later calls change nothing.
  void end(ExitCode code, std::string_view reason);
  /// report.html in the run's folder, once; a warning when it cannot be written.
  void leave_report();

  /// The one way an error reaches stderr: as it reads, or as a line of the JSON log; in run.log too once there is one.
  void print_error(const Error& error);
};

/// Prints a command's result on stdout; main ends with 74 when that failed (base::Output tells the rule).
void print(const std::string& text);

}  // namespace holdfast::app
