// How often the same line may be logged. A line is "the same" when it differs in numbers only. Knows no log.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::base {

/// Lets the first `per_minute` lines of a kind pass in a minute, and counts the rest. A minute begins with a kind's
/// first line. At most kKinds kinds are told apart; the lines of all further ones are one kind. Not thread-safe.
class LogLimit {
 public:
  static constexpr std::size_t kKinds = 256;

  explicit LogLimit(std::int64_t per_minute) : per_minute_(per_minute) {}

  struct Kept {
    std::string first;       ///< the line of this kind that passed first in its minute
    std::int64_t count = 0;  ///< lines that did not pass
  };
  struct Verdict {
    bool pass = true;
    std::vector<Kept> over;  ///< kinds whose minute ended with lines that did not pass: to be told now
  };
  Verdict admit(std::string_view text, std::chrono::nanoseconds now);
  /// What is still untold; forgets it.
  std::vector<Kept> take_rest();

 private:
  struct Kind {
    std::chrono::nanoseconds begin{};
    std::int64_t passed = 0;
    Kept kept;
  };
  void end_minutes(std::chrono::nanoseconds now, std::vector<Kept>& over);

  std::int64_t per_minute_;
  std::map<std::string, Kind, std::less<>> kinds_;
  std::chrono::nanoseconds next_look_{};
};

/// One line for what was kept back: "4711 more lines like this were left out: <first>".
std::string left_out_text(const LogLimit::Kept&);

}  // namespace holdfast::base
