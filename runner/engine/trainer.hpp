// The training run: windows, updates, evaluation, requests, until the target, a stop or a failure. Knows neither
// recipes nor files: data, state and life signs pass through the interfaces below.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/state_view.hpp"
#include "engine/plan_change.hpp"
#include "holdfast/dataset.hpp"
#include "holdfast/hook.hpp"
#include "holdfast/model.hpp"
#include "holdfast/strategy.hpp"
#include "plan/settings.hpp"

namespace holdfast::device {
class Arithmetic;
class MemoryMeter;
class PhaseMemory;
}  // namespace holdfast::device

namespace holdfast::engine {

/// Windows that a rollback left out: numbers [first, first + count) since the start of the run.
struct LeftOut {
  std::int64_t first = 0, count = 0;
  bool operator==(const LeftOut&) const = default;
};

struct Progress {
  std::int64_t update = 0;  ///< applied updates
  std::int64_t window = 0;  ///< windows consumed since the start of the run, dropped ones included
  std::int64_t epoch = 0;   ///< of the next window
  std::int64_t samples_seen = 0;
  std::int64_t no_op_windows = 0, skipped_windows = 0, skipped_samples = 0, oom_retries = 0;
  std::optional<double> best_metric;
  std::int64_t best_update = 0;
  std::optional<double> early_best;  ///< of the early-stop metric, which may be another one
  std::int64_t evals_without_improvement = 0;
  std::vector<LeftOut> left_out{};  ///< in order of the rollbacks
};

/// Time of the parts of the attempt that ended a window, as the training thread saw it. They leave out what lies
/// between them (splitting, weighing, seeding), and earlier attempts that ran out of memory.
struct StepTimes {
  Duration forward{}, backward{}, update{};
  Duration prepare{};  ///< of the update: what may fail (norm, clipping, moments)
};

/// Memory of the micro-batches that were looked at: the highest figure of each kind, in bytes.
struct MemorySample {
  std::int64_t micro_batches = 0;  ///< looked at; 0: the other figures say nothing
  std::int64_t allocated = 0;      ///< at their ends: weights, moments, gradients
  std::int64_t peak = 0;           ///< within them: activations too
  std::int64_t reserved = 0;       ///< taken from the system, at their ends
};

/// One window as the observer sees it, every time (the observer limits its own rate; this must stay cheap).
struct WindowSeen {
  WindowReport report;
  std::int64_t samples_seen = 0;
  Duration data_wait{}, compute{};
  StepTimes times;
  /// Why it was not applied: "empty", "nonfinite", "vetoed" or "left_out"; empty when it was.
  std::string_view dropped;
  MemorySample memory;
};

/// Life signs. Called on the training thread; never throws.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void started(const RunFacts&, const Progress&) {}
  virtual void window(const WindowSeen&) {}
  /// An evaluation begins; one that a stop cuts short is never told as evaluated.
  virtual void evaluating() {}
  virtual void evaluated(const EvalReport&, bool best) { (void)best; }
  virtual void saved(const SaveReport&) {}
  /// A save was asked for while the one before is still being written: it is not made.
  virtual void save_missed(std::int64_t update, std::string_view reason) { (void)update, (void)reason; }
  virtual void out_of_memory(const OomReport&) {}
  /// A field of the plan is another from now on; told after what made it so.
  virtual void plan_changed(const PlanChange&, std::int64_t update) { (void)update; }
  virtual void sample_skipped(const SampleFault&) {}
  virtual void rolled_back(const RollbackReport&, const Progress&) {}
  /// Somebody says that this machine is about to be taken away; the run stops.
  virtual void preempted(std::string_view source, std::string_view why) { (void)source, (void)why; }
  virtual void note(std::string_view /*sentence*/) {}
  /// As note(), of what the user should change.
  virtual void warn(std::string_view sentence) { note(sentence); }
};

/// Where states go. Implemented with checkpoint::Store by the worker, in memory by tests. All calls come on the
/// training thread.
class Saver {
 public:
  virtual ~Saver() = default;
  struct Request {
    std::string reason, suffix;
    bool best = false;
    std::int64_t update = 0, epoch = 0, samples_seen = 0;
  };
  /// Throws Error 73/74 on failure; the trainer reports it and goes on or stops as told by `stop_on_save_error`. Error
  /// 82 (base::kNotFinite) refuses a state whose weights are not finite: what was saved before stays.
  virtual SaveReport save(const base::StateView&, const Request&) = 0;

  /// Whether begin() may be used instead, so that training goes on while the state is written.
  [[nodiscard]] virtual bool in_background() const { return false; }
  /// Calls `snapshot` at once, and writes what it returns on another thread: those bytes stay as they are until
  /// settle() gave the result. Not while one is being written. Throws what `snapshot` throws.
  virtual void begin(const std::function<base::StateView()>& snapshot, const Request& request) {
    (void)snapshot, (void)request;
  }
  struct Settled {
    SaveReport report;
    std::optional<Error> failure;
  };
  /// The result of what was begun, once. Empty when nothing was, and without `wait` also while it is being written.
  virtual std::optional<Settled> settle(bool wait) {
    (void)wait;
    return std::nullopt;
  }
  /// A state that was saved here, with what it points to.
  struct Found {
    base::StateView state;
    std::shared_ptr<void> storage;
    std::string where;
  };
  /// The newest that can be read and whose data position is no later than `window`; none when there is none. Not while
  /// one is being written. `told` hears why newer ones are passed over.
  virtual std::optional<Found> newest(std::int64_t window, const std::function<void(const std::string&)>& told) {
    (void)window, (void)told;
    return std::nullopt;
  }
  /// The checkpoint that was written last holds the present state.
  virtual void note_present() {}
  /// Somebody outside asks for a checkpoint: why. Asked at every edge; cheap.
  virtual std::optional<std::string> wanted() { return std::nullopt; }
};

/// Set by what stops a run from outside; read at window edges, between micro-batches and between batches of an
/// evaluation.
struct StopFlag {
  virtual ~StopFlag() = default;
  /// Non-null once a stop was asked for: why ("SIGTERM from pid 1"). Cheap.
  virtual const std::string* asked() const = 0;
  /// The same as a yes or no, asked while nothing goes on: asked() may count as a sign of life.
  [[nodiscard]] virtual bool raised() const { return asked() != nullptr; }
  /// The reason that the last checkpoint carries.
  [[nodiscard]] virtual const char* kind() const { return "signal"; }
};

struct NamedStrategy {
  std::string table;
  Strategy* strategy = nullptr;
};
struct NamedHook {
  std::string table;
  Hook* hook = nullptr;
};

struct TrainerParts {
  plan::TrainSettings settings;
  Model* model = nullptr;
  const Dataset* train = nullptr;
  const Dataset* eval = nullptr;  ///< may be null
  std::vector<NamedStrategy> strategies;
  std::vector<NamedHook> hooks;
  Observer* observer = nullptr;
  Saver* saver = nullptr;
  StopFlag* stop = nullptr;         ///< may be null
  std::vector<std::string> on_oom;  ///< rungs of the ladder by name
  bool stop_on_save_error = false;
  Duration last_save_patience{};  ///< how long a save that must succeed is tried again after an I/O error
  /// Keys of the recipe with their texts ("optimizer.lr", "0.001"), saved to tell on resume what changed.
  std::vector<std::pair<std::string, std::string>> choices;
  const Memory* memory = nullptr;                  ///< what hooks may ask; may be null
  const device::Arithmetic* arithmetic = nullptr;  ///< of the device; null: this machine's
  device::PhaseMemory* phase_memory = nullptr;     ///< records forward, backward and update; may be null
  device::MemoryMeter* meter = nullptr;            ///< of the device, sampled; may be null
  std::int64_t sample_every = 0;                   ///< micro-batches from one sample of `meter` to the next; 0: none
};

struct Measurement;
struct MeasurementSettings;

struct Outcome {
  ExitCode code = ExitCode::kOk;
  std::string reason;  ///< one sentence: "target of 360 updates reached"
  Progress progress;
  std::vector<std::pair<std::string, double>> last_eval;
};

class Trainer {
 public:
  /// Checks that the parts fit (plan conflicts: Error 78, all of them together) and builds optimizer and loader.
  explicit Trainer(TrainerParts parts);
  ~Trainer();

  /// JSON of what must match on resume: model tensors (names, shapes, dtypes), data fingerprints, seed, batch size.
  [[nodiscard]] std::string identity() const;
  /// Judges a saved state and changes nothing: Error 78 naming the differing keys when the identity differs, Error 66
  /// at `where` when progress, model, optimizer or a hook's or strategy's state cannot be ones that a run of this
  /// recipe saved. Hooks and strategies are asked by restore(), and get back what state() said before.
  void check(const base::StateView& saved, const std::string& where);
  /// Takes over a saved state, after check(). `saved_here`: it lies where this run saves, so that a stop before the
  /// next window need not save it again.
  void restore(const base::StateView& saved, bool saved_here = true, const std::string& where = "checkpoint");
  /// Trains to the end. Errors of data (65), plugins (70) and device (81) are thrown after an emergency save where due.
  Outcome run();
  /// Evaluates once on the eval set, whole, and returns the scores (also for `holdfast eval`).
  std::vector<std::pair<std::string, double>> evaluate();
  /// Trains a few updates and tells what they cost (engine/measurement.hpp). Nothing is saved, no hook hears of it but
  /// for corrupt samples; the state that is left is of no other use. Throws what run() throws for data and plugins; a
  /// full device is told in the result.
  Measurement measure(const MeasurementSettings& settings);
  /// The current state, valid until the next update.
  base::StateView state();
  /// Plan, owner of each field, exactness, for `validate` and `plan`.
  [[nodiscard]] const StepPlan& step_plan() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::engine
