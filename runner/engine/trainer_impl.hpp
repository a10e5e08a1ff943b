// The inside of a Trainer, shared by trainer.cpp (making), run.cpp (the loop), edge.cpp (the
// edges of windows), rollback.cpp (going back), recovery.cpp (memory that runs out), measure.cpp (updates that are
// measured), saving.cpp (when and how the state is saved), state.cpp (saving, restoring), state_check.cpp (what may be
// restored) and choices.cpp (telling what changed).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/hooks.hpp"
#include "engine/ladder.hpp"
#include "engine/loader.hpp"
#include "engine/loss_scale.hpp"
#include "engine/progress_json.hpp"
#include "engine/ranking.hpp"
#include "engine/saving.hpp"
#include "engine/step.hpp"
#include "engine/tensor_bytes.hpp"
#include "engine/trainer.hpp"
#include "optim/optimizer.hpp"

namespace holdfast::engine {

struct MeasuredUpdate;

using Texts = std::vector<std::pair<std::string, std::string>>;  // key or table, text

struct Trainer::Impl {
  explicit Impl(TrainerParts trainer_parts);

  // The loop (run.cpp, edge.cpp).
  Outcome run();
  /// Scores over the eval set; empty when `stop` was raised meanwhile. It may be null.
  std::optional<std::vector<std::pair<std::string, double>>> evaluate(StopFlag* stop);

  // A few updates to measure (measure.cpp).
  Measurement measure(const MeasurementSettings& settings);

  // State (state.cpp).
  [[nodiscard]] const std::string& identity();
  base::StateView state(Copies copies = Copies::kNow);
  /// The same around these views of the tensors.
  base::StateView described(std::vector<base::TensorView> model, std::vector<base::TensorView> optimizer_state);
  /// What Trainer::check() does.
  SavedProgress checked(const base::StateView& saved, const std::string& where);
  void restore(const base::StateView& saved, bool saved_here, const std::string& where);

  TrainerParts parts;
  Observer silent;
  Observer& observer;
  Model& model;
  StepPlan composed;   ///< as the strategies made it
  StepPlan plan;       ///< and as the ladder has changed it since
  StepPlan eval_plan;  ///< of evaluations: only the size of their micro-batches means anything
  LossScale loss_scale;
  NamedTensors tensors;     ///< parameters, then buffers: what is saved as the model
  NamedTensors parameters;  ///< those that train, each once
  std::unique_ptr<optim::Optimizer> optimizer;
  Ladder ladder, eval_ladder;
  Hooks hooks;
  Loader loader;
  Step step;
  Progress progress;
  std::int64_t total_updates = 0;
  std::vector<std::pair<std::string, double>> last_eval;
  std::int64_t last_eval_update = -1;

 private:
  using Clock = std::chrono::steady_clock;

  Outcome loop();
  void start_loader();
  void leave_loader();
  [[nodiscard]] bool stop_asked() const { return parts.stop && parts.stop->raised(); }
  std::optional<Outcome> window();
  StepResult train(const Batch& batch, double learning_rate);
  // Memory that runs out (recovery.cpp).
  void recover(OomReport& report, std::int64_t samples);
  void recover_evaluation(OomReport& report, std::int64_t samples);
  const Rung& climb(OomReport& report, Ladder& rungs, StepPlan& changed, std::int64_t samples);
  /// Carries out at once what a changed plan needs. False when it cannot be, and then the plan is as before.
  bool obey(StepPlan& changed, const StepPlan& before);
  void escalate(const std::string& why);
  void tell(const std::string& why, const Rung& rung, const StepPlan& before);
  [[nodiscard]] Room room(std::int64_t samples) const;
  /// The optimizer's state, made where it is not there yet.
  NamedTensors moments();
  void restore_plan(const SavedExtra& saved);
  void require_precision();
  MeasuredUpdate measured_update();
  void settle(LoadedWindow& loaded, const std::string& table);
  WindowReport account(const LoadedWindow& loaded, const StepResult& result, double learning_rate);
  std::optional<Outcome> edge(const WindowReport& report);
  // Going back (rollback.cpp).
  /// Asks hooks about the present window. Empty: nobody is against its update; otherwise who and why.
  std::string objection(const StepResult& result, bool finite);
  [[nodiscard]] bool is_left_out(std::int64_t window) const;
  std::optional<Outcome> roll_back(const Requests& asked);
  [[nodiscard]] bool weights_finite();
  std::optional<Outcome> conclude(Requests& asked, bool last);
  [[nodiscard]] bool evaluation_due(const WindowReport& report) const;
  Ranked evaluate_and_rank(Requests& asked);
  Outcome abandon();
  // Saves (saving.cpp).
  [[nodiscard]] SavePoint here() const;
  void heed_saver(Requests& asked);
  void save(Saver::Request request, bool must_succeed);
  void save_now(const Saver::Request& request, bool must_succeed);
  /// One try, or as many as TrainerParts::last_save_patience gives time for.
  SaveReport write_state(const Saver::Request& request, bool must_succeed);
  void save_behind(const Saver::Request& request);
  void write_again();
  void save_best_late();
  /// Takes the writer's result, when there is one. `parting`: the run ends; a failure is told, whatever the recipe
  /// says.
  void take_settled(bool wait, bool parting = false);
  /// `taken`: from when on time until the next save counts.
  void settled(const SavePoint& point, const Saver::Request& request, SaveReport report,
               const std::optional<Error>& failure, Duration taken);
  /// For the way out: whatever goes wrong here must not hide why the run ends.
  void end_failed(const Error& failure) noexcept;
  void emergency_save(bool out_of_memory);
  /// Memory ran out where no rung can help.
  Error out_of_memory_outside(const std::string& text);
  [[nodiscard]] bool finished() const;
  void check_fruitful() const;
  [[nodiscard]] Outcome outcome(ExitCode code, std::string reason) const;
  [[nodiscard]] Duration now() const { return Clock::now() - started_; }

  [[nodiscard]] Texts hook_states() const;
  void restore_components(const SavedProgress& saved, const Texts& saved_choices, const std::string& where);
  void forget_other_metric(const std::string& saved_eval_data);
  void forget_other_goal(const SavedGoals& saved);
  // What differs from the saved run (choices.cpp).
  [[nodiscard]] Texts choices() const;
  void tell_changes(const Texts& saved);

  std::size_t weights_ = 0;  ///< so many of `tensors`, from the first, are parameters
  std::string identity_;
  std::string eval_data_;
  std::vector<at::Tensor> kept_;  ///< what the last StateView points to
  Clock::time_point started_ = Clock::now();
  Duration last_eval_time_{};
  bool evaluation_pending_ = false;  ///< due at this edge and not carried out yet
  /// What is saved of hooks while it is pending: all of it is repeated, so nothing that they counted of it may count.
  Texts hooks_before_evaluation_;
  std::int64_t fruitless_windows_ = 0;  ///< since the last applied update
  std::int64_t present_window_ = 0;     ///< windows consumed, the one in work included
  Requests asked_early_;                ///< by hooks between two edges, for the next
  Saving saving_;
};

}  // namespace holdfast::engine
