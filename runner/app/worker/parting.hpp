// How the process speaks where it may neither allocate nor unwind: in signal handlers and in exit functions.
#pragma once

#include <string_view>

namespace holdfast::app {

/// Prints "holdfast: error[reason]: WHAT" and the hint on stderr, and leaves WHAT as the cause of exit code 70 in the
/// run's status, where there is a run. WHAT is the parts in a row; what goes beyond 400 bytes is cut.
/// Async-signal-safe.
struct Parting {
  std::string_view reason;
  std::string_view parts[7];
  std::string_view hint;
};
void speak(const Parting&) noexcept;

}  // namespace holdfast::app
