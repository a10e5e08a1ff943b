// The hook "oom_checkpoint": what a run has learned is kept when memory runs out for good. Writes nothing itself.
#pragma once

#include "holdfast/hook.hpp"

namespace holdfast::plugins {

/// Asks for a save when the memory ladder is exhausted. The engine then saves the state after the last finished update,
/// one tensor at a time, in a folder that carries "-oom"; the reported cause stays the memory that ran out.
class OomCheckpoint : public Hook {
 public:
  static void declare(OptionTable& /*options*/) {}
  OomCheckpoint(const Options& /*options*/, const Context& /*context*/) {}

  void out_of_memory(const OomReport& report, Requests& requests) override;
};

}  // namespace holdfast::plugins
