// What the world sees of a run while it works: status.json, events.jsonl, the progress line and the log's sentences.
// Torch-free; knows neither engine nor recipe. Called on the training thread; nothing here throws or ends a run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "holdfast/hook.hpp"
#include "telemetry/console.hpp"
#include "telemetry/event_log.hpp"
#include "telemetry/stage_times.hpp"
#include "telemetry/status.hpp"

namespace holdfast::telemetry {

struct LifeSignsSettings {
  std::string folder;      ///< the generation, absolute
  std::string run;         ///< the run's name
  std::string generation;  ///< the generation's name
  int attempt = 1;
  std::string best_metric;  ///< score whose best value status.json tells; empty: none
  std::int64_t epochs = 0;  ///< of the recipe; 0 where the target is a number of updates
  std::string metrics_url;  ///< of the endpoint; empty: none
  EventFields facts = {};   ///< further fields of the events start and resume: what trains, and on which machine
  Duration every = std::chrono::seconds(1);
  ConsoleMode console = ConsoleMode::kLines;
  int console_file = 2;
  base::RunLog* log = nullptr;         ///< where sentences go; required, outlives this object
  const base::Clock* clock = nullptr;  ///< null: the machine's
};

struct StartFacts {
  std::int64_t update = 0, epoch = 0, samples_seen = 0;
  std::int64_t total_updates = 0, updates_per_epoch = 0;
  std::string from;  ///< checkpoint resumed from; empty at a fresh start
};

class LifeSigns {
 public:
  explicit LifeSigns(LifeSignsSettings settings);
  ~LifeSigns();
  LifeSigns(const LifeSigns&) = delete;
  LifeSigns& operator=(const LifeSigns&) = delete;

  void started(const StartFacts&);
  /// What the run's state knows and a killed process may not have told: into the next status. Empty scores say nothing.
  void recall(std::int64_t best_update, std::optional<double> best_metric,
              const std::vector<std::pair<std::string, double>>& scores) {
    status_.best_update = best_update;
    status_.best_metric = best_metric;
    if (!scores.empty()) status_.scores = scores;
  }
  /// Bytes that sampled micro-batches needed, before the window that they belong to. The next event `update` carries
  /// the highest.
  void micro_batch_memory(std::int64_t allocated, std::int64_t peak, std::int64_t reserved) {
    sums_.allocated = std::max(sums_.allocated, allocated);
    sums_.peak = std::max(sums_.peak, peak);
    sums_.reserved = std::max(sums_.reserved, reserved);
  }
  /// The hot path: adds to sums and compares two numbers; files and lines only when `every` has passed.
  void window(const WindowReport& report, std::int64_t samples_seen, const StageTimes& times) {
    last_ = report;
    samples_seen_ = samples_seen;
    sums_.windows += 1;
    sums_.data += times.data, sums_.forward += times.forward;
    sums_.backward += times.backward, sums_.optimizer += times.optimizer;
    sums_.slowest = std::max(sums_.slowest, times.data + times.compute);
    if (report.applied) sums_.applied += 1, sums_.loss += report.loss, sums_.grad_norm += report.grad_norm;
    if (!report.applied) dropped(report);
    if (report.now >= next_beat_) beat(report.now);
  }
  void evaluated(const EvalReport&, bool best);
  void saved(const SaveReport&);
  /// A checkpoint was due while the one before was still being written: counted, and told with the next saved().
  void save_missed(std::int64_t update, std::string_view reason);
  void out_of_memory(const OomReport&);
  /// A field of the plan is another from this update on.
  void plan_changed(std::int64_t update, std::string_view field, std::string_view before, std::string_view after,
                    std::string_view owner);
  void sample_skipped(const SampleFault&);
  /// `epoch` and `samples_seen` are those that the run went back to.
  void rolled_back(const RollbackReport&, std::int64_t epoch, std::int64_t samples_seen);
  /// A notice that this machine is about to be taken away, before the stop is carried out.
  void preempted(std::string_view source, std::string_view why);
  /// The stop that was asked for, before it is carried out.
  void signalled(std::string_view why);
  void note(std::string_view sentence);
  void warn(std::string_view sentence) { settings_.log->warn(sentence); }
  /// The last word: status, event, and the end of the progress line. Later calls do nothing.
  void ended(ExitCode code, std::string_view reason);

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] std::int64_t lost_events() const { return events_.lost(); }

 private:
  struct Sums {
    std::int64_t windows = 0, applied = 0;
    double loss = 0, grad_norm = 0;
    Duration data{}, forward{}, backward{}, optimizer{}, slowest{};
    std::int64_t allocated = 0, peak = 0, reserved = 0;  ///< the highest of micro-batches
  };
  void beat(Duration now);
  void add_times(EventFields&) const;
  void add_memory(EventFields&) const;
  /// Updates a second since the last beat; 0 where that cannot be said yet.
  [[nodiscard]] double fresh_rate() const;
  void dropped(const WindowReport&);
  void tell_missed();
  void event(std::string_view name, const EventFields& fields);
  void show(bool redraw_only);
  void publish();
  [[nodiscard]] std::string time() const;

  LifeSignsSettings settings_;
  const base::Clock& clock_;
  EventLog events_;
  Console console_;
  Status status_;
  WindowReport last_;
  Sums sums_;
  std::int64_t samples_seen_ = 0;
  Duration next_beat_{}, next_line_{}, beat_at_{};
  std::int64_t beat_update_ = 0, skip_lines_ = 0;
  std::int64_t missed_saves_ = 0, missed_at_ = -1;  ///< all; update of the first since the last saved()
  std::string missed_why_;
  double rate_ = 0;
  bool told_lost_ = false, ended_ = false;
};

}  // namespace holdfast::telemetry
