// Escaping of untrusted text for JSON and terminals, on top of one UTF-8 reader.
#include <array>
#include <cstdio>

#include "base/text.hpp"

namespace holdfast::base {
namespace {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

/// The next code point of a non-empty text; invalid ones are one byte long. Overlong forms and surrogates are invalid
/// (Unicode 15, table 3-7).
CodePoint next_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return {};
  char32_t value = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3Fu);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {};
  return {value, length, true};
}

std::string formatted(const char* format, unsigned value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }
/// Characters that reorder or hide what stands beside them, line separators included.
bool is_deceptive(char32_t c) {
  return (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F || c == 0x2028 ||
         c == 0x2029 || c == 0xFEFF;
}

std::string escape_for_terminal(std::string_view text, bool keep_lines) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    if (!point.valid) {
      safe += formatted("\\x%02x", static_cast<unsigned char>(text[0]));
    } else if (point.value == '\n' || point.value == '\t') {
      safe += keep_lines ? std::string(1, text[0]) : point.value == '\n' ? "\\n" : "\\t";
    } else if (is_control(point.value)) {
      safe += formatted("\\x%02x", static_cast<unsigned>(point.value));
    } else if (is_deceptive(point.value)) {
      safe += formatted("\\u%04x", static_cast<unsigned>(point.value));
    } else {
      safe += text.substr(0, point.bytes);
    }
    text.remove_prefix(point.bytes);
  }
  return safe;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = next_code_point(text);
    valid += point.valid ? text.substr(0, point.bytes) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(point.bytes);
  }
  return valid;
}

std::string json_string(std::string_view text) {
  std::string json = "\"";
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '"':
        json += "\\\"";
        break;
      case '\\':
        json += "\\\\";
        break;
      case '\n':
        json += "\\n";
        break;
      case '\r':
        json += "\\r";
        break;
      case '\t':
        json += "\\t";
        break;
      default:
        // DEL is legal in JSON but not on the terminal that may show it.
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
          json += formatted("\\u%04x", static_cast<unsigned>(c));
        else
          json += c;
    }
  }
  return json + "\"";
}

std::string terminal_safe(std::string_view text) { return escape_for_terminal(text, true); }
std::string terminal_safe_line(std::string_view text) { return escape_for_terminal(text, false); }

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return terminal_safe_line(text);
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  std::size_t end = limit > 3 ? limit - 3 : 0;
  while (end > 0 && continues(end)) --end;
  return terminal_safe_line(text.substr(0, end)) + "...";
}

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const CodePoint point = next_code_point(text);
  return point.valid ? point.bytes : 0;
}

}  // namespace holdfast::base
