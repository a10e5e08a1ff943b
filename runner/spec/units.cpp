// Exact arithmetic in 128 bits: nothing is rounded, nothing wraps.
#include "spec/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace holdfast::spec {
namespace {

__extension__ using Wide = __int128;
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

struct Unit {
  std::string_view word;
  std::int64_t factor;
};

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::array kTimeUnits = {Unit{"d", 86400 * kSecond},
                                   Unit{"day", 86400 * kSecond},
                                   Unit{"days", 86400 * kSecond},
                                   Unit{"h", 3600 * kSecond},
                                   Unit{"hour", 3600 * kSecond},
                                   Unit{"hours", 3600 * kSecond},
                                   Unit{"min", 60 * kSecond},
                                   Unit{"mins", 60 * kSecond},
                                   Unit{"minute", 60 * kSecond},
                                   Unit{"minutes", 60 * kSecond},
                                   Unit{"s", kSecond},
                                   Unit{"sec", kSecond},
                                   Unit{"secs", kSecond},
                                   Unit{"second", kSecond},
                                   Unit{"seconds", kSecond},
                                   Unit{"ms", 1'000'000},
                                   Unit{"us", 1'000},
                                   Unit{"ns", 1}};
constexpr std::array kSizeUnits = {Unit{"TiB", std::int64_t{1} << 40},
                                   Unit{"TB", 1'000'000'000'000},
                                   Unit{"GiB", 1 << 30},
                                   Unit{"GB", 1'000'000'000},
                                   Unit{"MiB", 1 << 20},
                                   Unit{"MB", 1'000'000},
                                   Unit{"KiB", 1 << 10},
                                   Unit{"KB", 1'000},
                                   Unit{"B", 1}};

constexpr std::string_view kTimeHelp = R"(write for example "90 s", "10 min" or "24 h" (units: ms, s, min, h, d))";
constexpr std::string_view kSizeHelp =
    R"(write for example "512MiB" or "2GB" (units: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB))";
constexpr std::string_view kIntervalHelp =
    R"(write for example "500 updates", "1 epoch" or "10 min" (units: updates, epochs, s, min, h, d))";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// "1.25 GB" taken apart: 125 with two decimals, and the unit.
struct Quantity {
  Wide digits = 0;
  int decimals = 0;
  std::string_view unit;
  std::string problem;
};

Quantity take_apart(std::string_view text) {
  Quantity out;
  text = trim(text);
  if (text.empty()) return out.problem = "is empty", out;
  if (text.front() == '-') return out.problem = "is negative", out;
  std::size_t at = 0;
  bool point = false;
  int count = 0;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !point)); ++at) {
    if (text[at] == '.') {
      point = true;
      continue;
    }
    if (++count > 24) return out.problem = "is too large", out;
    out.digits = out.digits * 10 + (text[at] - '0');
    out.decimals += point ? 1 : 0;
  }
  if (count == 0 || text[at - 1] == '.') return out.problem = "does not begin with a number", out;
  out.unit = trim(text.substr(at));
  if (out.unit.empty()) out.problem = "has no unit";
  return out;
}

const Unit* find_unit(std::span<const Unit> units, std::string_view word) {
  for (const Unit& unit : units)
    if (unit.word == word) return &unit;
  return nullptr;
}

/// digits * factor / 10^decimals, exactly; a clause when it is not whole or does not fit.
std::string scale(const Quantity& quantity, std::int64_t factor, std::string_view smallest, std::int64_t& result) {
  Wide divisor = 1;
  for (int i = 0; i < quantity.decimals; ++i) divisor *= 10;
  // 24 digits times one day in nanoseconds stay below 2^127.
  const Wide product = quantity.digits * factor;
  if (product % divisor != 0) return "is finer than one " + std::string(smallest);
  if (product / divisor > kLargest) return "is too large";
  result = static_cast<std::int64_t>(product / divisor);
  return {};
}

std::string unknown_unit(std::string_view unit) { return "has the unknown unit '" + std::string(unit) + "'"; }

std::string largest_unit(std::int64_t value, std::span<const Unit> units, std::string_view space) {
  for (const Unit& unit : units)
    if (value % unit.factor == 0)
      return std::to_string(value / unit.factor) + std::string(space) + std::string(unit.word);
  return {};
}

constexpr std::array kShortTimeUnits = {Unit{"h", 3600 * kSecond}, Unit{"min", 60 * kSecond}, Unit{"s", kSecond},
                                        Unit{"ms", 1'000'000},     Unit{"us", 1'000},         Unit{"ns", 1}};

}  // namespace

Parsed<Duration> parse_duration(std::string_view text) {
  Quantity quantity = take_apart(text);
  std::int64_t nanoseconds = 0;
  if (quantity.problem.empty()) {
    const Unit* unit = find_unit(kTimeUnits, quantity.unit);
    quantity.problem = unit ? scale(quantity, unit->factor, "nanosecond", nanoseconds) : unknown_unit(quantity.unit);
  }
  if (!quantity.problem.empty()) return {std::nullopt, quantity.problem, std::string(kTimeHelp)};
  return {Duration(nanoseconds), {}, {}};
}

Parsed<Bytes> parse_size(std::string_view text) {
  Quantity quantity = take_apart(text);
  std::int64_t bytes = 0;
  if (quantity.problem.empty()) {
    const Unit* unit = find_unit(kSizeUnits, quantity.unit);
    quantity.problem = unit ? scale(quantity, unit->factor, "byte", bytes) : unknown_unit(quantity.unit);
  }
  if (!quantity.problem.empty()) return {std::nullopt, quantity.problem, std::string(kSizeHelp)};
  return {Bytes{bytes}, {}, {}};
}

Parsed<Interval> parse_interval(std::string_view text) {
  const Quantity quantity = take_apart(text);
  const auto fault = [](std::string problem) {
    return Parsed<Interval>{std::nullopt, std::move(problem), std::string(kIntervalHelp)};
  };
  if (!quantity.problem.empty()) return fault(quantity.problem);
  const bool updates = quantity.unit == "update" || quantity.unit == "updates";
  const bool epochs = quantity.unit == "epoch" || quantity.unit == "epochs";
  if (!updates && !epochs) {
    const Parsed<Duration> time = parse_duration(text);
    if (!time.value) return fault(time.problem);
    if (time.value->count() == 0) return fault("is zero");
    return {Interval{Interval::Unit::kTime, 0, *time.value}, {}, {}};
  }
  if (quantity.decimals > 0) return fault("is not a whole number of " + std::string(updates ? "updates" : "epochs"));
  if (quantity.digits == 0) return fault("is zero");
  if (quantity.digits > kLargest) return fault("is too large");
  const auto count = static_cast<std::int64_t>(quantity.digits);
  return {Interval{updates ? Interval::Unit::kUpdates : Interval::Unit::kEpochs, count, {}}, {}, {}};
}

std::string format_duration(Duration value) {
  return value.count() == 0 ? "0 s" : largest_unit(value.count(), kShortTimeUnits, " ");
}

std::string format_size(Bytes value) {
  if (value.count == 0) return "0 B";
  // Of two exact spellings the one with fewer digits: 512MiB, but 2GB.
  std::string best;
  for (const Unit& unit : kSizeUnits) {
    if (value.count % unit.factor != 0) continue;
    std::string text = std::to_string(value.count / unit.factor) + std::string(unit.word);
    if (best.empty() || text.size() < best.size()) best = std::move(text);
  }
  return best;
}

std::string format_interval(const Interval& value) {
  if (value.unit == Interval::Unit::kTime) return format_duration(value.time);
  const std::string_view word = value.unit == Interval::Unit::kUpdates ? " update" : " epoch";
  return std::to_string(value.count) + std::string(word) + (value.count == 1 ? "" : "s");
}

std::string format_number(double value) {
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

Parsed<MetricGoal> parse_metric_goal(std::string_view text) {
  const std::string hint = R"(write for example "eval.loss:min" or "eval.accuracy:max")";
  const std::size_t colon = text.rfind(':');
  const std::string_view mode = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (mode != "min" && mode != "max") return {std::nullopt, "does not end in \":min\" or \":max\"", hint};
  std::string_view metric = text.substr(0, colon);
  if (metric.substr(0, 5) != "eval.") return {std::nullopt, "does not begin with \"eval.\"", hint};
  metric.remove_prefix(5);
  if (metric.empty()) return {std::nullopt, "names no metric", hint};
  return {MetricGoal{std::string(metric), mode == "max"}, {}, {}};
}

}  // namespace holdfast::spec
