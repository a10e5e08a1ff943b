// The strategy "activation_checkpointing": which segments are run again in the backward pass instead of keeping what
// they saved. It only edits the plan; the engine does the rest.
#pragma once

#include <string>
#include <vector>

#include "holdfast/options.hpp"
#include "holdfast/strategy.hpp"

namespace holdfast::plugins {

/// Exact: the same bits as without.
class ActivationCheckpointing : public Strategy {
 public:
  static void declare(OptionTable& options);
  ActivationCheckpointing(const Options& options, const Context&) : policy_(options.strings("policy")) {}
  void edit(PlanEditor& plan) override { plan.recompute(policy_); }

 private:
  std::vector<std::string> policy_;
};

}  // namespace holdfast::plugins
