// Strategies that reduce precision and overflow gradients at chosen windows.
#pragma once

#include <limits>
#include <set>

#include "engine/fixtures.hpp"

namespace holdfast::tests {

class Reduced : public Strategy {
 public:
  explicit Reduced(Precision precision, std::int64_t fp32_updates = 0, LossScaling scaling = {})
      : precision_(precision), fp32_updates_(fp32_updates), scaling_(scaling) {}
  void edit(PlanEditor& editor) override {
    editor.precision(precision_);
    editor.full_precision_updates(fp32_updates_);
    editor.loss_scaling(scaling_);
  }

 private:
  Precision precision_;
  std::int64_t fp32_updates_;
  LossScaling scaling_;
};

/// Puts an infinity into a gradient of the windows with these numbers, 1-based, before anybody looks at it.
class Overflow : public Strategy {
 public:
  Overflow(Model& model, std::set<int> windows, int before = 0)
      : model_(model), windows_(std::move(windows)), n_(before) {}
  unsigned phases() const override { return phase_bit(Phase::kUpdate); }
  std::unique_ptr<Scope> enter(const PhaseInfo&) override {
    const at::NoGradGuard no_grad;
    if (windows_.contains(++n_))
      model_.parameters().front().tensor.mutable_grad().fill_(std::numeric_limits<float>::infinity());
    return nullptr;
  }

 private:
  Model& model_;
  std::set<int> windows_;
  int n_;
};

inline LossScaling scaling(double init, std::int64_t interval = 2000) {
  LossScaling values;
  values.init_scale = init;
  values.growth_interval = interval;
  return values;
}

inline std::vector<double> scales_of(const HookOf& hook) {
  std::vector<double> scales;
  for (const auto& window : hook.windows) scales.push_back(window.loss_scale);
  return scales;
}

}  // namespace holdfast::tests
