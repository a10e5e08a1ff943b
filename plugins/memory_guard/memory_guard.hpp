// The hook "memory_guard": acts while there is still memory to act with. It only asks; it frees and writes nothing.
#pragma once

#include <string>

#include "holdfast/hook.hpp"

namespace holdfast::plugins {

/// Looks at window edges, where gradients and activations are gone: what it sees is what stays, not the peak. Device
/// and control group are watched apart. A crossing of `at` asks once for a save, for empty caches and for what `then`
/// says, and is armed again when the share has fallen `hysteresis` below. A memory without a limit is not watched.
class MemoryGuard : public Hook {
 public:
  static void declare(OptionTable& options);
  MemoryGuard(const Options& options, const Context& context);

  void window_end(const WindowReport& report, Requests& requests) override;

 private:
  void judge(const MemoryUse& use, const char* what, bool& crossed, Requests& requests);

  Log& log_;
  double at_, armed_below_;
  std::string then_;
  bool device_crossed_ = false, machine_crossed_ = false;
  Duration next_machine_{};
};

}  // namespace holdfast::plugins
