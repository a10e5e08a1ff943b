// A strategy shapes how an update is computed. Most only edit the StepPlan; those that must act open scopes on
// typed phases: attempt > micro_batch > forward / backward > update.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "holdfast/component.hpp"
#include "holdfast/step_plan.hpp"
#include "holdfast/tensor.hpp"

namespace holdfast {

enum class Phase { kAttempt, kMicroBatch, kForward, kBackward, kUpdate };

struct PhaseInfo {
  Phase phase{};
  std::int64_t update = 0;       ///< update being computed, 1-based
  std::int64_t micro_batch = 0;  ///< 0-based within the window
  std::int64_t micro_batches = 1;
};

/// Closed by its destructor when the phase ends, by success or by exception, in reverse order of opening.
class HOLDFAST_VISIBLE Scope {
 public:
  virtual ~Scope() = default;
};

enum class Verdict { kApply, kDrop };

class HOLDFAST_VISIBLE Strategy : public Component {
 public:
  static constexpr Kind kKind = Kind::kStrategy;
  /// Edits the plan before the run; called again whenever the plan is rebuilt. No other place may change it.
  virtual void edit(PlanEditor&) {}
  /// Bit p set: `enter` wants phase p. The engine calls nothing else in the loop.
  [[nodiscard]] virtual unsigned phases() const { return 0; }
  virtual std::unique_ptr<Scope> enter(const PhaseInfo&) { return nullptr; }
  [[nodiscard]] virtual bool transforms_loss() const { return false; }
  virtual at::Tensor transform_loss(at::Tensor loss, const PhaseInfo&) { return loss; }
  [[nodiscard]] virtual bool judges_gradients() const { return false; }
  /// Sees reduced, unscaled, unclipped gradients; kDrop drops the window whole.
  virtual Verdict judge(const NamedTensors& /*gradients*/, const PhaseInfo&) { return Verdict::kApply; }
  /// Exact: gives the same update as the plain step, bit for bit (splits: up to summation order). `why_not` explains.
  [[nodiscard]] virtual bool exact(std::string& /*why_not*/) const { return true; }
  virtual std::string state() const { return "{}"; }
  virtual void restore(std::string_view /*json*/) {}  ///< as Hook::restore
};

constexpr unsigned phase_bit(Phase phase) { return 1u << static_cast<unsigned>(phase); }

}  // namespace holdfast
