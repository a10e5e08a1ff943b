// The state machine of the loss scale.
#include "engine/loss_scale.hpp"

#include <algorithm>
#include <cstdio>

#include "engine/precision.hpp"

namespace holdfast::engine {
std::string scale_text(double scale) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", scale);
  return buffer;
}

LossScale::LossScale(const StepPlan& plan) : plan_(plan) { restore(std::nullopt); }

bool LossScale::scales(std::int64_t update) const { return precision_at(plan_, update) == Precision::kFloat16; }

double LossScale::at(std::int64_t update) const { return scales(update) ? state_.scale : 1; }

void LossScale::applied(std::int64_t update) {
  if (!scales(update)) return;
  const LossScaling& scaling = plan_.loss_scaling.value;
  state_.skipped_at_floor = 0;
  if (++state_.applied_in_a_row < scaling.growth_interval) return;
  state_.applied_in_a_row = 0;
  state_.scale = std::min(state_.scale * scaling.growth_factor, scaling.max_scale);
}

std::string LossScale::overflowed(std::int64_t update) {
  if (!scales(update)) return {};
  const LossScaling& scaling = plan_.loss_scaling.value;
  const bool at_floor = state_.scale <= scaling.min_scale;
  ++state_.skipped;
  state_.skipped_at_floor = at_floor ? state_.skipped_at_floor + 1 : 0;
  state_.applied_in_a_row = 0;
  state_.scale = std::max(state_.scale * scaling.backoff_factor, scaling.min_scale);
  return at_floor ? "; the loss scale is " + scale_text(state_.scale) + ", its minimum"
                  : "; the loss scale is now " + scale_text(state_.scale);
}

void LossScale::check_floor(std::int64_t update) const {
  if (state_.skipped_at_floor < kFloorPatience) return;
  throw Error(
      ExitCode::kDiverged, "run.loss_scale", "update " + std::to_string(update),
      "the last " + std::to_string(state_.skipped_at_floor) +
          " windows had a loss or gradient that is not finite, with the loss scale at its minimum of " +
          scale_text(plan_.loss_scaling.value.min_scale),
      "lower optimizer.lr, set dtype = \"bf16\" in [" + plan_.precision.owner + "], or look for NaN in the data");
}

std::optional<LossScaleState> LossScale::state() const {
  if (plan_.precision.value != Precision::kFloat16) return std::nullopt;
  return state_;
}

void LossScale::restore(const std::optional<LossScaleState>& saved) {
  const LossScaling& scaling = plan_.loss_scaling.value;
  state_ = saved.value_or(LossScaleState{scaling.init_scale, 0, 0, 0});
  state_.scale = std::clamp(state_.scale, scaling.min_scale, scaling.max_scale);
}

}  // namespace holdfast::engine
