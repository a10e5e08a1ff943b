// Learning rate as a pure function of applied updates.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "plan/settings.hpp"

namespace holdfast::plan {

double learning_rate(const OptimizerSettings& optimizer, const ScheduleSettings& schedule, std::int64_t update,
                     std::int64_t total) {
  const auto warmup = schedule.warmup_updates;
  if (update <= warmup) return optimizer.lr * static_cast<double>(update) / static_cast<double>(warmup);
  if (schedule.name == ScheduleSettings::Name::kConstant) return optimizer.lr;
  const double length = static_cast<double>(std::max<std::int64_t>(total - warmup, 1));
  const double share = std::clamp(static_cast<double>(update - warmup) / length, 0.0, 1.0);
  if (schedule.name == ScheduleSettings::Name::kLinear) return optimizer.lr + (schedule.min_lr - optimizer.lr) * share;
  return schedule.min_lr + (optimizer.lr - schedule.min_lr) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

}  // namespace holdfast::plan
