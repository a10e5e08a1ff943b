// All hooks of a run as one: heard in order, their requests merged. Knows what this release can do for them.
#pragma once

#include <vector>

#include "engine/trainer.hpp"
#include "holdfast/hook.hpp"

namespace holdfast::engine {

class Hooks {
 public:
  explicit Hooks(std::vector<NamedHook> hooks) : hooks_(std::move(hooks)) {}

  void run_begin(const RunFacts& facts);
  void run_end(ExitCode code);
  void save_end(const SaveReport& report);
  void rolled_back(const RollbackReport& report);
  /// These add to `merged`. Throw Error 70 for a request that cannot be met here, naming the hook.
  void before_update(const UpdateProposal& proposal, Requests& merged);
  void window_end(const WindowReport& report, Requests& merged);
  void eval_end(const EvalReport& report, Requests& merged);
  void out_of_memory(const OomReport& report, Requests& merged);  ///< refuses a request for the next rung
  /// The first hook that decides wins.
  FaultVerdict corrupt_sample(const SampleFault& fault);

 private:
  std::vector<NamedHook> hooks_;
};

}  // namespace holdfast::engine
