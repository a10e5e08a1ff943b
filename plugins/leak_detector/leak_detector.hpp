// The hook "leak_detector": tells of tensors that are kept, window after window. It changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/hook.hpp"

namespace holdfast::plugins {

/// Looks at the lowest use within each tenth of the last `windows` windows: what an evaluation or a save needs for a
/// moment does not show there. Ten tenths of which each is above the one before are a leak, told once for each domain,
/// with the growth an update. What is reserved may stay flat meanwhile: blocks kept for reuse feed the leak first, so
/// that the process does not seem to grow.
class LeakDetector : public Hook {
 public:
  static void declare(OptionTable& options);
  LeakDetector(const Options& options, const Context& context);

  void window_end(const WindowReport& report, Requests& requests) override;

 private:
  struct Tenth {
    std::int64_t lowest = 0, update = 0;  ///< update at its end
  };
  struct Watched {
    const char* name;
    std::vector<Tenth> tenths{};
    std::int64_t lowest = 0;
    bool told = false;
  };
  void watch(Watched& watched, const MemoryUse& use, std::int64_t update, bool first, bool last);

  Log& log_;
  std::int64_t tenth_;  ///< windows in a tenth
  std::int64_t seen_ = 0;
  Watched device_{"device"}, host_{"host"};
};

}  // namespace holdfast::plugins
