// The scale of the loss under fp16: how it moves with the fate of windows. Numbers only; knows no tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/step_plan.hpp"

namespace holdfast::engine {

/// "65536", "1e+30": whole where nine digits are enough.
std::string scale_text(double scale);

/// What a checkpoint keeps of the scale, and the digest covers.
struct LossScaleState {
  double scale = 1;
  std::int64_t applied_in_a_row = 0;  ///< since the scale last moved
  std::int64_t skipped = 0;           ///< windows dropped for a number that was not finite, in the whole run
  std::int64_t skipped_at_floor = 0;  ///< of these, in a row with the scale at its minimum
  bool operator==(const LossScaleState&) const = default;
};

/// As torch.amp.GradScaler moves it, between a floor and a ceiling: a window with a loss or gradient that is not finite
/// multiplies the scale by backoff_factor; growth_interval applied windows without one multiply it by growth_factor.
/// Vetoed, empty and repeated windows leave it alone, and so do windows in full precision, which are not scaled.
class LossScale {
 public:
  /// Windows dropped in a row at the floor that end a run: what overflows unscaled does not come from the scale.
  static constexpr std::int64_t kFloorPatience = 50;

  explicit LossScale(const StepPlan& plan);
  /// Factor of the loss in the `update`-th update (1-based); 1 where none is scaled.
  [[nodiscard]] double at(std::int64_t update) const;
  [[nodiscard]] bool scales(std::int64_t update) const;
  void applied(std::int64_t update);
  /// The window of this update had a number that was not finite. Returns the end of a sentence about it ("; the
  /// loss scale is now 32768"), empty where no loss is scaled.
  std::string overflowed(std::int64_t update);
  /// Throws Error 82 after kFloorPatience windows in a row that were dropped at the floor.
  void check_floor(std::int64_t update) const;

  /// None when the plan does not compute in fp16.
  [[nodiscard]] std::optional<LossScaleState> state() const;
  /// A scale outside of the plan's bounds is moved to the nearer one; none begins at init_scale.
  void restore(const std::optional<LossScaleState>& saved);

 private:
  const StepPlan& plan_;
  LossScaleState state_;
};

}  // namespace holdfast::engine
