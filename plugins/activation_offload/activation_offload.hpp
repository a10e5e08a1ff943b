// The strategy "activation_offload": which saved tensors wait for the backward pass in the host domain. It only edits
// the plan; the engine does the rest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/options.hpp"
#include "holdfast/strategy.hpp"

namespace holdfast::plugins {

/// Exact: the same bits as without.
class ActivationOffload : public Strategy {
 public:
  static void declare(OptionTable& options);
  ActivationOffload(const Options& options, const Context&)
      : policy_(options.strings("policy")), min_bytes_(options.size("min_bytes").count) {}
  void edit(PlanEditor& plan) override { plan.offload(policy_, min_bytes_); }

 private:
  std::vector<std::string> policy_;
  std::int64_t min_bytes_;
};

}  // namespace holdfast::plugins
