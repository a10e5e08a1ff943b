// The strategy "amp": reduced precision for forward and loss. It only edits the plan; scopes and scale are the
// engine's.
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/options.hpp"
#include "holdfast/strategy.hpp"

namespace holdfast::plugins {

/// Not exact: numbers are rounded to bf16 or fp16 on the way.
class Amp : public Strategy {
 public:
  static void declare(OptionTable& options);
  /// Error 78 when the scale's bounds contradict each other, or options of the scale stand beside bf16.
  Amp(const Options& options, const Context& context);
  void edit(PlanEditor& plan) override;
  [[nodiscard]] bool exact(std::string& why_not) const override;

 private:
  Precision precision_;
  LossScaling scaling_;
  std::int64_t fp32_updates_ = 0;
};

}  // namespace holdfast::plugins
