// The machine's clocks and UTC texts. Knows no time zones.
#include "base/clock.hpp"

#include <array>
#include <cstdio>

namespace holdfast::base {
namespace {

class RealClock final : public Clock {
 public:
  [[nodiscard]] std::chrono::nanoseconds monotonic() const override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
  [[nodiscard]] WallTime wall() const override { return std::chrono::system_clock::now(); }
};

struct Parts {
  int year;
  unsigned month, day;
  long hour, minute, second, millisecond;
};

Parts split(WallTime time) {
  namespace chrono = std::chrono;
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss clock{chrono::floor<chrono::milliseconds>(time - day)};
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          static_cast<long>(clock.hours().count()),
          static_cast<long>(clock.minutes().count()),
          static_cast<long>(clock.seconds().count()),
          static_cast<long>(clock.subseconds().count())};
}

}  // namespace

Clock& Clock::real() {
  static RealClock clock;
  return clock;
}

std::string compact_utc(WallTime time) {
  const Parts t = split(time);
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "%04d%02u%02uT%02ld%02ld%02ldZ", t.year, t.month, t.day, t.hour, t.minute,
                t.second);
  return text.data();
}

std::string rfc3339_utc(WallTime time) {
  const Parts t = split(time);
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02ld:%02ld:%02ld.%03ldZ", t.year, t.month, t.day, t.hour,
                t.minute, t.second, t.millisecond);
  return text.data();
}

}  // namespace holdfast::base
