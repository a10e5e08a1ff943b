// Nearest names, joining and figures with units. Escaping is in escape.cpp.
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace holdfast::base {
namespace {

bool same_letter(char a, char b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return lower(a) == lower(b);
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rolling rows: two back (for swaps), one back, current.
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

std::optional<std::string> nearest_name(std::string_view given, std::span<const std::string> candidates) {
  // A hostile name of megabytes must not cost a quadratic comparison.
  constexpr std::size_t kLongest = 256;
  if (given.size() > kLongest) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(1, given.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(given, candidate);
    if (distance < best_distance && distance < std::max(given.size(), candidate.size())) {
      best_distance = distance;
      best = candidate;
    }
  }
  // "batch" for "batch_size": many edits, one thought.
  for (const std::string& candidate : candidates)
    if (!best && given.size() >= 3 && candidate.starts_with(given)) best = candidate;
  return best;
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != parts.data()) text += separator;
    text += part;
  }
  return text;
}

std::string human_bytes(std::int64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.95 would be printed as 1024.0 with one decimal.
  while (std::abs(value) >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string human_duration(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  std::array<char, 64> text{};
  const char* sign = seconds < 0 ? "-" : "";
  seconds = std::abs(seconds);
  // Beyond this the figures mean nothing and the integers below would overflow.
  if (seconds > 1e12) return "unknown";
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (seconds < 9.995) {
    std::snprintf(text.data(), text.size(), "%s%.2f s", sign, seconds);
  } else if (seconds < 59.95) {
    std::snprintf(text.data(), text.size(), "%s%.1f s", sign, seconds);
  } else if (whole < 3600) {
    std::snprintf(text.data(), text.size(), "%s%lld min %02lld s", sign, whole / 60, whole % 60);
  } else if (whole < 86400) {
    std::snprintf(text.data(), text.size(), "%s%lld h %02lld min", sign, whole / 3600, whole % 3600 / 60);
  } else {
    std::snprintf(text.data(), text.size(), "%s%lld d %02lld h", sign, whole / 86400, whole % 86400 / 3600);
  }
  return text.data();
}

std::string human_count(std::int64_t count) {
  const std::string digits = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > first && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace holdfast::base
