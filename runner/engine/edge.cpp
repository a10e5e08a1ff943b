// The edge of a window: the only place where a run is evaluated, saved or ended.
#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "device/memory.hpp"
#include "engine/evaluation.hpp"
#include "engine/precision.hpp"
#include "engine/trainer_impl.hpp"

namespace holdfast::engine {

std::optional<Outcome> Trainer::Impl::edge(const WindowReport& report) {
  Requests asked = std::exchange(asked_early_, {});
  hooks.window_end(report, asked);
  if (asked.rollback_reason && !asked.stop_code) return roll_back(asked);
  heed_saver(asked);
  evaluation_pending_ = evaluation_due(report);
  return conclude(asked, report.last);
}

// What an edge owes once hooks were heard; a resumed run comes here first when a stop cut an evaluation short.
std::optional<Outcome> Trainer::Impl::conclude(Requests& asked, bool last) {
  Ranked ranked;
  if (evaluation_pending_) ranked = evaluate_and_rank(asked);
  if (asked.escalate_reason) escalate(*asked.escalate_reason);
  const std::string* signal = parts.stop ? parts.stop->asked() : nullptr;
  if (signal) asked.stop(ExitCode::kStoppedAfterSave, *signal);

  const bool reached = last && !evaluation_pending_;
  const bool ending = reached || ranked.stop.has_value();
  const bool stopping = asked.stop_code == ExitCode::kStoppedAfterSave;
  const bool preempted = stopping && !signal && asked.preemption_source;
  if (preempted) observer.preempted(*asked.preemption_source, asked.stop_reason);
  if (ending || stopping || ranked.best || asked.save_reason) {
    std::string reason = asked.save_reason.value_or("best");
    if (ranked.best) reason = "best";
    if (stopping) reason = signal ? parts.stop->kind() : preempted ? "preemption" : "stop";
    if (ending) reason = "end";
    save({std::move(reason), "", ranked.best, 0, 0, 0}, ending || stopping);
  }
  if (asked.release) device::release_caches();
  if (asked.stop_code && !stopping) return outcome(*asked.stop_code, asked.stop_reason);
  if (reached) return outcome(ExitCode::kOk, "the target of " + std::to_string(total_updates) + " updates is reached");
  if (ranked.stop) return outcome(ExitCode::kOk, *ranked.stop);
  if (stopping) return outcome(ExitCode::kStoppedAfterSave, asked.stop_reason);
  check_fruitful();
  return std::nullopt;
}

Outcome Trainer::Impl::abandon() {
  save({parts.stop->kind(), "", false, 0, 0, 0}, true);
  return outcome(ExitCode::kStoppedAfterSave, *parts.stop->asked());
}

bool Trainer::Impl::evaluation_due(const WindowReport& report) const {
  if (!parts.eval) return false;
  const Interval& every = parts.settings.eval_every;
  if (report.last) return true;
  switch (every.unit) {
    case Interval::Unit::kUpdates:
      return report.applied && report.update % every.count == 0;
    case Interval::Unit::kEpochs:
      return report.epoch_end && (report.epoch + 1) % every.count == 0;
    case Interval::Unit::kTime:
      return report.now - last_eval_time_ >= every.time;
  }
  return false;
}

std::optional<std::vector<std::pair<std::string, double>>> Trainer::Impl::evaluate(StopFlag* stop) {
  const auto& s = parts.settings;
  if (!parts.eval)
    throw Error(ExitCode::kBadRecipe, "eval.no_data", "dataset.eval", "there is no eval data set",
                "add [dataset.eval] to the recipe");
  const EvaluationSettings settings{{"dataset.eval", s.eval_batch_size, s.shuffle_eval, s.drop_last_eval, s.seed,
                                     s.loader_threads, s.prefetch_batches},
                                    s.seed,
                                    progress.update,
                                    autocast_dtype(precision_at(plan, std::max<std::int64_t>(progress.update, 1)))};
  eval_ladder.begin_window();
  return engine::evaluate(model, *parts.eval, settings, eval_plan,
                          {[this](LoadedWindow& loaded) { settle(loaded, "dataset.eval"); },
                           [this](OomReport& report, std::int64_t samples) { recover_evaluation(report, samples); }},
                          stop);
}

Ranked Trainer::Impl::evaluate_and_rank(Requests& asked) {
  hooks_before_evaluation_ = hook_states();
  observer.evaluating();
  auto scores = evaluate(parts.stop);
  if (!scores) {
    observer.note("the evaluation at update " + std::to_string(progress.update) +
                  " was cut short by the stop; it comes first when the run goes on");
    return {};
  }
  const EvalReport report{progress.update, *std::move(scores)};
  last_eval = report.scores;
  last_eval_update = report.update;
  last_eval_time_ = now();
  const Progress before = progress;
  Ranked ranked = rank(report, parts.settings, progress);
  if (ranked.best && !weights_finite()) {
    progress.best_metric = before.best_metric;
    progress.best_update = before.best_update;
    ranked.best = false;
    observer.warn("the evaluation at update " + std::to_string(progress.update) +
                  " is not the best, whatever its score: a weight of the model is not finite");
  }
  evaluation_pending_ = false;
  observer.evaluated(report, ranked.best);
  hooks.eval_end(report, asked);
  return ranked;
}

}  // namespace holdfast::engine
