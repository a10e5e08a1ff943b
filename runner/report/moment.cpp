// std::chrono's calendar: no locale, no time zone of the machine.
#include "report/moment.hpp"

#include <charconv>
#include <chrono>

namespace holdfast::report {
namespace {

std::optional<int> field(std::string_view text, std::size_t at, std::size_t size, int most) {
  int value = 0;
  const char* begin = text.data() + at;
  const auto read = std::from_chars(begin, begin + size, value);
  if (read.ec != std::errc{} || read.ptr != begin + size || value < 0 || value > most) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> unix_seconds(std::string_view text) {
  if (text.size() < 20 || text.back() != 'Z') return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' || text[16] != ':') return std::nullopt;
  const auto year = field(text, 0, 4, 9999), month = field(text, 5, 2, 12), day = field(text, 8, 2, 31);
  const auto hour = field(text, 11, 2, 23), minute = field(text, 14, 2, 59), second = field(text, 17, 2, 60);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  using namespace std::chrono;
  const year_month_day date{std::chrono::year{*year}, std::chrono::month{static_cast<unsigned>(*month)},
                            std::chrono::day{static_cast<unsigned>(*day)}};
  if (!date.ok()) return std::nullopt;
  const auto time = sys_days{date} + hours{*hour} + minutes{*minute} + std::chrono::seconds{*second};
  return duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::string clock_text(std::string_view text) {
  if (!unix_seconds(text)) return std::string(text);
  return std::string(text.substr(0, 10)) + " " + std::string(text.substr(11, 8));
}

}  // namespace holdfast::report
