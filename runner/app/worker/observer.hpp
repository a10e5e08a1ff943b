// The engine's happenings for telemetry. A few additions and comparisons a window.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/worker/flight.hpp"
#include "app/worker/service.hpp"
#include "base/signal.hpp"
#include "engine/trainer.hpp"
#include "telemetry/life_signs.hpp"
#include "telemetry/metrics/run_metrics.hpp"

namespace holdfast::app {

class SignsObserver : public engine::Observer {
 public:
  SignsObserver(base::RunLog& log, const base::SignalWatcher& watcher, Service& service)
      : log_(log), watcher_(watcher), service_(service) {}
  ~SignsObserver() override {
    for (const auto& [sentence, warning] : early_) warning ? log_.warn(sentence) : log_.info(sentence);
  }
  SignsObserver(const SignsObserver&) = delete;
  SignsObserver& operator=(const SignsObserver&) = delete;
  /// Before the trainer runs. `from`: the checkpoint resumed from, empty at a fresh start. `first`: the checkpoint with
  /// which a generation began that goes on from elsewhere.
  void attach(telemetry::LifeSigns& signs, telemetry::RunMetrics& metrics, std::string from,
              std::optional<SaveReport> first) {
    signs_ = &signs;
    metrics_ = &metrics;
    for (const auto& [sentence, warning] : early_) warning ? signs.warn(sentence) : signs.note(sentence);
    early_.clear();
    from_ = std::move(from);
    first_ = std::move(first);
  }

  void started(const RunFacts& facts, const engine::Progress& progress) override {
    signs_->recall(progress.best_update, progress.best_metric, {});
    signs_->started(
        {progress.update, progress.epoch, progress.samples_seen, facts.total_updates, facts.updates_per_epoch, from_});
    if (first_) signs_->saved(*first_);
    for (const auto& [change, update] : std::exchange(early_changes_, {})) plan_changed(change, update);
    sign(supervise::Phase::kTraining, supervise::Sign::kBegun);
    metrics_->started({progress.update, progress.epoch, progress.samples_seen, facts.total_updates});
    service_.started(progress.update, facts.total_updates);
  }
  void window(const engine::WindowSeen& seen) override {
    if (auto* recorder = flight())
      recorder->window(seen.report.update, seen.report.window, seen.report.epoch, seen.samples_seen, seen.report.loss,
                       seen.report.applied);
    if (auto* recorder = flight(); recorder && (seen.dropped == "vetoed" || is_divergence(seen)))
      recorder->diverged(seen.report.update + 1);
    if (const auto& memory = seen.memory; memory.micro_batches > 0) {
      signs_->micro_batch_memory(memory.allocated, memory.peak, memory.reserved);
      metrics_->micro_batch_memory(memory.allocated, memory.peak, memory.reserved);
    }
    const telemetry::StageTimes times{seen.data_wait, seen.times.forward, seen.times.backward, seen.times.update,
                                      seen.compute};
    signs_->window(seen.report, seen.samples_seen, times);
    metrics_->window(seen.report, seen.samples_seen, seen.dropped, times);
    service_.window(seen.report);
    if (!told_ && watcher_.asked() != nullptr) tell_signal();
  }
  void evaluating() override {
    sign(supervise::Phase::kEvaluating, supervise::Sign::kEvaluation);
    metrics_->evaluating();
  }
  void evaluated(const EvalReport& report, bool best) override {
    sign(supervise::Phase::kTraining, supervise::Sign::kEvaluated);
    metrics_->evaluated(report);
    signs_->evaluated(report, best);
  }
  void saved(const SaveReport& report) override {
    sign(supervise::Phase::kTraining, supervise::Sign::kSaved);
    if (!told_ && watcher_.asked() != nullptr) tell_signal();
    signs_->saved(report);
    service_.alive();
  }
  void save_missed(std::int64_t update, std::string_view reason) override {
    metrics_->save_missed();
    signs_->save_missed(update, reason);
  }
  void out_of_memory(const OomReport& report) override {
    if (auto* recorder = flight())
      recorder->shortage(report.update, report.micro_batch, report.phase, report.action, report.text);
    metrics_->out_of_memory(report);
    signs_->out_of_memory(report);
  }
  void plan_changed(const engine::PlanChange& change, std::int64_t update) override {
    if (!signs_) return (void)early_changes_.emplace_back(change, update);
    metrics_->plan_changed(change.field);
    signs_->plan_changed(update, change.field, change.before, change.after, change.owner);
  }
  void sample_skipped(const SampleFault& fault) override {
    metrics_->sample_skipped();
    signs_->sample_skipped(fault);
  }
  void rolled_back(const RollbackReport& report, const engine::Progress& progress) override {
    if (auto* recorder = flight()) recorder->sign(supervise::Phase::kTraining, supervise::Sign::kBegun);
    metrics_->rolled_back(report, progress.samples_seen);
    signs_->recall(progress.best_update, progress.best_metric, {});
    signs_->rolled_back(report, progress.epoch, progress.samples_seen);
  }
  void preempted(std::string_view source, std::string_view why) override {
    metrics_->preempted(source);
    signs_->preempted(source, why);
  }
  /// The trainer speaks before the run has signs and its log a file: that is kept until then.
  void note(std::string_view sentence) override {
    signs_ ? signs_->note(sentence) : (void)early_.emplace_back(sentence, false);
  }
  void warn(std::string_view sentence) override {
    signs_ ? signs_->warn(sentence) : (void)early_.emplace_back(sentence, true);
  }

 private:
  static void sign(supervise::Phase phase, supervise::Sign what) {
    if (auto* recorder = flight()) recorder->sign(phase, what);
  }
  /// Under a loss scale numbers that are not finite are part of the method.
  static bool is_divergence(const engine::WindowSeen& seen) {
    return seen.dropped == "nonfinite" && !(seen.report.loss_scale > 0);
  }
  void tell_signal() {
    told_ = true;
    metrics_->stopping();
    signs_->signalled(*watcher_.asked());
  }
  telemetry::LifeSigns* signs_ = nullptr;
  telemetry::RunMetrics* metrics_ = nullptr;
  base::RunLog& log_;
  const base::SignalWatcher& watcher_;
  Service& service_;
  std::string from_;
  std::optional<SaveReport> first_;
  std::vector<std::pair<std::string, bool>> early_;  ///< and whether it is a warning
  std::vector<std::pair<engine::PlanChange, std::int64_t>> early_changes_;
  bool told_ = false;
};

}  // namespace holdfast::app
