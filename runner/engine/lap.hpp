// A stopwatch for the parts of a step. Reads the clock of the training thread: on a device that works asynchronously a
// part is over when it was handed over.
#pragma once

#include <chrono>
#include <utility>

#include "holdfast/hook.hpp"

namespace holdfast::engine {

class Lap {
 public:
  /// Time since the last call, or since it was made. About 25 ns.
  Duration operator()() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration_cast<Duration>(now - std::exchange(begun_, now));
  }

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace holdfast::engine
