// The strategy "optimizer_offload": keeps the optimizer's moments on the host. It only edits the plan.
#pragma once

#include "holdfast/options.hpp"
#include "holdfast/strategy.hpp"

namespace holdfast::plugins {

/// Exact: the same kernels compute the same bits, in memory that the device budget does not count.
class OptimizerOffload : public Strategy {
 public:
  static void declare(OptionTable& /*options*/) {}
  OptimizerOffload(const Options& /*options*/, const Context& /*context*/) {}
  void edit(PlanEditor& plan) override { plan.optimizer_placement(Placement::kHost); }
};

}  // namespace holdfast::plugins
