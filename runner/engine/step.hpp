// The train step: one window becomes one update, or leaves no trace. Knows neither data sets, hooks nor checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/loss_scale.hpp"
#include "engine/memory_sampler.hpp"
#include "engine/phases.hpp"
#include "engine/selection.hpp"
#include "engine/snapshot.hpp"
#include "engine/split.hpp"
#include "engine/trainer.hpp"
#include "holdfast/model.hpp"
#include "optim/gradients.hpp"
#include "optim/optimizer.hpp"

namespace holdfast::engine {

enum class Fate {
  kApplied,
  kEmpty,      ///< weight 0: nothing computed
  kNonFinite,  ///< loss or a gradient is not a finite number: dropped whole
  kVetoed,     ///< a strategy or a hook judged against it: dropped whole
  kLeftOut,    ///< a rollback left it out: nothing computed
  kAbandoned,  ///< a stop was asked for between micro-batches
};

struct StepResult {
  Fate fate = Fate::kApplied;
  double loss = 0;  ///< mean over the window's units
  double weight = 0;
  double grad_norm = -1;  ///< before clipping
  std::string judge;      ///< the table of the strategy or hook that vetoed; a hook's with its reason
  StepTimes times;        ///< of the phases that ended
};

/// What the step is told of the update to compute.
struct UpdateInfo {
  std::int64_t number = 0;  ///< 1-based
  double learning_rate = 0;
};

class SegmentWatch;
class TradedSegments;

class Step {
 public:
  /// References must outlive the step. `parameters` are those that train, each once.
  Step(const TrainerParts& parts, const StepPlan& plan, const LossScale& loss_scale, NamedTensors parameters,
       optim::Optimizer& optimizer);
  ~Step();

  /// Computes the update. Whatever happens, parameters, buffers and moments are those of before or those of after.
  /// Returns a report when the device's memory ran out; no exception is alive then. Throws Error: as plugins threw it,
  /// 70 for any other exception (phase and micro-batch named), 88 when the host's memory ran out.
  std::variant<StepResult, OomReport> run(const Batch& window, const UpdateInfo& update);
  /// TradedSegments::outermost().
  [[nodiscard]] std::int64_t outermost_segments() const;
  /// As of TradedSegments.
  [[nodiscard]] KnownSegments known_segments() const;
  void recall(KnownSegments known);
  /// Of the micro-batches since the last call.
  MemorySample memory_sample() { return sampler_.take(); }
  /// Asks this before each update, and also where loss or gradient are not finite (`finite`). An answer that is not
  /// empty drops the window. Null: nobody is asked.
  using Objection = std::function<std::string(const StepResult&, bool finite)>;
  void ask(Objection objection) { objection_ = std::move(objection); }
  /// Lets `watch` look into every forward and backward pass from now on; null: nobody looks.
  void watch(SegmentWatch* watch);

 private:
  StepResult attempt(const Batch& window, const UpdateInfo& update);
  [[nodiscard]] OpenScopes enter(Phase phase);
  at::Tensor forward(const Batch& batch);
  void backward(const at::Tensor& loss, double scale);
  /// True when a strategy is against these gradients; `judge` is its table then.
  bool vetoed(std::string& judge);
  StepResult drop(StepResult result, Fate fate);
  void roll_back();
  [[noreturn]] void rethrow_named(const std::exception& failure) const;

  Model& model_;
  const TrainerParts& parts_;
  const StepPlan& plan_;
  const LossScale& loss_scale_;
  optim::Optimizer& optimizer_;
  Phases phases_;
  optim::Gradients gradients_;
  Snapshot buffers_;
  Split split_;
  MemorySampler sampler_;
  at::Device device_;  ///< of the parameters
  std::unique_ptr<TradedSegments> segments_;
  std::vector<NamedStrategy> transformers_, judges_;
  Objection objection_;
  at::Tensor scale_;  ///< gradient of the sum handed to backward: S / W
  double scale_value_ = 0;
  PhaseInfo place_;  ///< where the attempt is, for reports
};

}  // namespace holdfast::engine
