// Fixed rules, no iostream and no locale: std::to_chars does the digits.
#include "telemetry/quantity.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace holdfast::telemetry {
namespace {

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, digits);
  return end.ec == std::errc{} ? std::string(text.data(), end.ptr) : std::string("-");
}

}  // namespace

std::string number_text(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : (value > 0 ? "inf" : "-inf");
  const double size = std::abs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e6)) {
    std::array<char, 64> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 4);
    return {text.data(), end.ptr};
  }
  return fixed(value, size < 9.9995 ? 4 : size < 99.995 ? 2 : size < 999.95 ? 1 : 0);
}

std::string rate_text(double per_second) {
  if (!std::isfinite(per_second) || per_second < 0) return "-";
  return fixed(per_second, per_second < 9.995 ? 2 : per_second < 99.95 ? 1 : 0);
}

}  // namespace holdfast::telemetry
