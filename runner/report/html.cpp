// On top of base's escaping for terminals, which already makes visible what would hide or reorder.
#include "report/html.hpp"

#include "base/text.hpp"

namespace holdfast::report {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string html(std::string_view text, std::size_t limit) { return escaped(base::shortened(text, limit)); }

std::string html_lines(std::string_view text) { return escaped(base::terminal_safe(text)); }

std::string script_string(std::string_view text) {
  std::string out;
  for (const char c : base::json_string(base::shortened(text)))
    if (c == '<' || c == '>' || c == '&')
      out += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
    else
      out += c;
  return out;
}

}  // namespace holdfast::report
