// Edit distance and printable texts. Inputs may be hostile: everything is bounded.
#include "spec/distance.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

namespace holdfast::spec {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLongestText = 80;

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + change});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > kLongestName) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance >= best_distance || distance >= std::max(name.size(), candidate.size())) continue;
    best = candidate;
    best_distance = distance;
  }
  // "batch" for "batch_size": many edits, one thought.
  for (const std::string& candidate : candidates)
    if (best.empty() && name.size() >= 3 && candidate.compare(0, name.size(), name) == 0) best = candidate;
  return best;
}

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!continues(text, i)) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool outside = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : length;
}

std::string shorten(std::string_view text) {
  if (text.size() <= kLongestText) return printable(text);
  std::size_t end = kLongestText - 3;
  while (end > 0 && continues(text, end)) --end;
  return printable(text.substr(0, end)) + "...";
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    // U+0080..U+009F are control characters too; some terminals obey them.
    const bool control =
        byte < 0x20 || byte == 0x7f ||
        (length == 2 && byte == 0xC2 && continues(text, 1) && static_cast<unsigned char>(text[1]) < 0xA0);
    const std::size_t count = std::max<std::size_t>(1, length);
    if (length > 0 && !control) {
      out += text.substr(0, count);
    } else {
      for (const char c : text.substr(0, count)) {
        std::array<char, 8> escape{};
        std::snprintf(escape.data(), escape.size(), "\\x%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
        out += escape.data();
      }
    }
    text.remove_prefix(count);
  }
  return out;
}

}  // namespace holdfast::spec
