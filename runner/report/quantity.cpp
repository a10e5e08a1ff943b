// Round steps are 1, 2 and 5 times a power of ten; bytes count in binary units and have round steps within theirs.
#include "report/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.hpp"

namespace holdfast::report {
namespace {

std::string formatted(double value, std::chars_format format, int precision) {
  std::array<char, 400> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format, precision);
  return end.ec == std::errc{} ? std::string(text.data(), end.ptr) : std::string("-");
}

/// Without zeros that say nothing: "0.5000" is "0.5".
std::string trimmed(std::string text) {
  if (text.find('.') == std::string::npos || text.find('e') != std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string number(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < 1e-3 || size >= 1e6) return trimmed(formatted(value, std::chars_format::general, 3));
  return trimmed(formatted(value, std::chars_format::fixed, size < 10 ? 4 : size < 100 ? 2 : size < 1000 ? 1 : 0));
}

std::string seconds(double value) {
  if (std::abs(value) < 1e-3) return trimmed(formatted(value * 1e6, std::chars_format::fixed, 1)) + " µs";
  if (std::abs(value) < 1)
    return trimmed(formatted(value * 1e3, std::chars_format::fixed, value < 0.1 ? 2 : 0)) + " ms";
  return value < 60 ? trimmed(formatted(value, std::chars_format::fixed, 2)) + " s" : base::human_duration(value);
}

/// As quantity(), but short: "0" needs no unit, "100.0 MiB" no fraction.
std::string tick_label(double value, Unit unit) {
  if (value == 0) return "0";
  std::string text = quantity(value, unit);
  if (const auto at = text.find(".0 "); at != std::string::npos) text.erase(at, 2);
  return text;
}

double round_step(double span, int wanted) {
  const double raw = span / std::max(1, wanted);
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= raw * 0.75) return factor * power;
  return 10 * power;
}

/// 1 for all but bytes: there the unit that the largest value is told in.
double unit_size(double largest, Unit unit) {
  double size = 1;
  while (unit == Unit::kBytes && largest / size >= 1024 && size < 1e15) size *= 1024;
  return size;
}

std::vector<Tick> logarithmic_ticks(double low, double high, Unit unit) {
  const double decades = std::log10(high / low);
  std::vector<double> factors = {1, 2, 5};
  if (decades > 2) factors = {1};
  const int stride = std::max(1, static_cast<int>(decades / 6));
  std::vector<Tick> ticks;
  for (int power = static_cast<int>(std::floor(std::log10(low))); power <= std::log10(high) + 1; power += stride)
    for (const double factor : factors) {
      const double value = factor * std::pow(10.0, power);
      if (value >= low * 0.9999 && value <= high * 1.0001) ticks.push_back({value, tick_label(value, unit)});
    }
  return ticks;
}

}  // namespace

std::string quantity(double value, Unit unit) {
  if (!std::isfinite(value)) return "-";
  switch (unit) {
    case Unit::kSeconds:
      return seconds(value);
    case Unit::kBytes:
      return base::human_bytes(static_cast<std::int64_t>(std::clamp(value, 0.0, 9e18)));
    case Unit::kPerSecond:
      return number(value) + "/s";
    case Unit::kShare:
      return trimmed(formatted(value * 100, std::chars_format::fixed, value < 0.1 ? 1 : 0)) + " %";
    case Unit::kNumber:
      break;
  }
  return number(value);
}

const char* unit_name(Unit unit) {
  constexpr std::array<const char*, 5> kNames = {"number", "seconds", "bytes", "rate", "share"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::string digits(double value) {
  return std::isfinite(value) ? formatted(value, std::chars_format::general, 6) : std::string("null");
}

double Axis::place(double value) const {
  const double share =
      logarithmic ? std::log(std::max(value, low) / low) / std::log(high / low) : (value - low) / (high - low);
  return std::clamp(share, 0.0, 1.0);
}

Axis make_axis(double low, double high, int wanted, Unit unit, bool logarithmic) {
  Axis axis{low, high, logarithmic && low > 0, {}};
  if (!(high - low > std::abs(high) * 1e-9)) {  // a constant lies in the middle
    const double room = high == 0 ? 1 : std::abs(high) * 0.5;
    axis.low = low >= 0 ? std::max(0.0, low - room) : low - room;
    axis.high = high + room;
    axis.logarithmic = false;
  }
  if (axis.logarithmic) axis.ticks = logarithmic_ticks(axis.low, axis.high, unit);
  if (axis.ticks.size() >= 2) return axis;
  axis.ticks.clear();
  const double scale = unit_size(std::max(std::abs(axis.low), std::abs(axis.high)), unit);
  const double step = round_step((axis.high - axis.low) / scale, wanted) * scale;
  for (double k = std::ceil(axis.low / step - 1e-6); k * step <= axis.high + step * 1e-6; ++k)
    axis.ticks.push_back({k * step, tick_label(std::abs(k) < 0.5 ? 0 : k * step, unit)});
  return axis;
}

Axis count_axis(double low, double high, int wanted) {
  Axis axis{low, std::max(high, low + 1), false, {}};
  const double step = std::max(1.0, round_step(axis.high - axis.low, wanted));
  for (double k = std::ceil(axis.low / step - 1e-6); k * step <= axis.high + step * 1e-6; ++k)
    axis.ticks.push_back({k * step, base::human_count(static_cast<std::int64_t>(k * step))});
  return axis;
}

}  // namespace holdfast::report
