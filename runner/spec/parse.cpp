// toml++ at work, fenced in: nesting is bounded before it builds (and recursively destroys) its tree.
#include "spec/parse.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#define TOML_MAX_NESTED_VALUES 32
// Malformed text reaches some of toml++'s assertions before its own error for it. With NDEBUG they turn into promises
// to the optimizer, without it into aborts: neither is wanted, so that the error is reported in every build.
#undef NDEBUG
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include "base/text.hpp"
#include "spec/units.hpp"

namespace holdfast::spec {
namespace {

constexpr int kMostDots = 16;

/// Skips a string that begins at `at`; returns the position after it (after the line's end when it is not closed).
std::size_t skip_string(std::string_view text, std::size_t at) {
  const char mark = text[at];
  const std::string three(3, mark);
  const bool multiline = text.substr(at, 3) == three;
  at += multiline ? 3 : 1;
  while (at < text.size()) {
    if (text[at] == '\\' && mark == '"') {
      at += 2;
    } else if (multiline && text.substr(at, 3) == three) {
      return at + 3;
    } else if (!multiline && text[at] == mark) {
      return at + 1;
    } else if (!multiline && text[at] == '\n') {
      return at;
    } else {
      ++at;
    }
  }
  return text.size();
}

/// Line of the first key with more than kMostDots dots, or 0. toml++ bounds brackets but not dots, and a tree a
/// million tables deep overflows the stack when it is destroyed.
int line_of_deep_key(std::string_view text) {
  int dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = skip_string(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '.' && ++dots > kMostDots) return 1 + static_cast<int>(std::count(text.begin(), text.begin() + at, '\n'));
    if (c == '\n' || c == '=' || c == '[' || c == ']' || c == '{' || c == '}' || c == ',') dots = 0;
    ++at;
  }
  return 0;
}

Place place_of(const toml::source_region& region) {
  return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

/// The text between two columns (characters from 1) of one line.
std::string slice(std::string_view line, std::uint32_t from, std::uint32_t to) {
  std::string out;
  for (std::uint32_t column = 1; !line.empty() && column < to; ++column) {
    const std::size_t length = std::max<std::size_t>(1, base::utf8_length(line));
    if (column >= from) out += line.substr(0, length);
    line.remove_prefix(length);
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\t' || out.back() == '\r')) out.pop_back();
  return out;
}

class Converter {
 public:
  explicit Converter(const Source& source) : source_(source) {}

  Value convert(const toml::node& node) const {
    Value value;
    value.place = place_of(node.source());
    if (const toml::table* table = node.as_table()) {
      for (const auto& [key, child] : *table)
        value.entries.push_back({std::string(key.str()), place_of(key.source()), convert(child)});
    } else if (const toml::array* array = node.as_array()) {
      value.type = Value::Type::kArray;
      for (const toml::node& child : *array) value.items.push_back(convert(child));
    } else {
      scalar(node, value);
    }
    return value;
  }

 private:
  void scalar(const toml::node& node, Value& value) const {
    if (const auto* boolean = node.as_boolean()) {
      value.type = Value::Type::kBoolean;
      value.boolean = boolean->get();
      value.written = value.boolean ? "true" : "false";
    } else if (const auto* integer = node.as_integer()) {
      value.type = Value::Type::kInteger;
      value.integer = integer->get();
      value.written = std::to_string(value.integer);
    } else if (const auto* number = node.as_floating_point()) {
      value.type = Value::Type::kFloat;
      value.number = number->get();
      value.written = format_number(value.number);
    } else if (const auto* text = node.as_string()) {
      value.type = Value::Type::kString;
      value.text = text->get();
      value.written = quote(value.text);
    } else {
      value.type = Value::Type::kDate;
    }
    as_written(node.source(), value);
  }

  /// Prefers the user's spelling where it stands on one line.
  void as_written(const toml::source_region& region, Value& value) const {
    // A line may be megabytes long; slicing walks it from its beginning.
    if (region.begin.line != region.end.line || region.end.column > 1000) return;
    std::string text = slice(source_.line(static_cast<int>(region.begin.line)), region.begin.column, region.end.column);
    if (!text.empty()) value.written = std::move(text);
  }

  const Source& source_;
};

bool starts_with(std::string_view text, std::string_view begin) { return text.substr(0, begin.size()) == begin; }

/// toml++ reports a faulty header behind it, sometimes on the next line: points at the beginning of the line that
/// counts.
Place place_of_redefinition(const Source& source, Place place, bool header) {
  std::size_t at = source.line(place.line).find_first_not_of(" \t");
  while (header && place.line > 1 && (at == std::string_view::npos || source.line(place.line)[at] != '[')) {
    --place.line;
    at = source.line(place.line).find_first_not_of(" \t");
  }
  place.column = at == std::string_view::npos ? 0 : static_cast<int>(at) + 1;
  return place;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

/// What is given twice, in the user's spelling: "the table [train]", "the key 'epochs'". toml++ names it too, but with
/// doubled quotes and leftovers. `place` is the header's line; `column` is where toml++ noticed.
std::string repeated(const Source& source, const Place& place, bool header, std::size_t column) {
  const std::string_view line = source.line(place.line);
  if (header) return "the table " + base::shortened(trimmed(line.substr(0, line.rfind(']') + 1)));
  const std::string_view before = line.substr(0, column);  // the last pair of an inline table
  const std::size_t equals = before.rfind('=');
  const std::size_t begin = before.find_last_of("{,", equals) + 1;
  std::string_view key = equals == std::string_view::npos ? "" : trimmed(before.substr(begin, equals - begin));
  if (key.empty() || key.find_first_of(" =\"'[") != std::string_view::npos)
    key = trimmed(line.substr(0, line.find('=')));
  return "the key '" + base::shortened(key) + "'";
}

[[noreturn]] void refuse(const Source& source, const toml::parse_error& error) {
  std::string text(error.description());
  const bool redefines =
      text.find("cannot redefine") != std::string::npos || text.find("cannot insert") != std::string::npos;
  const bool header = text.find("table header") != std::string::npos;
  const std::string prefix = "Error while parsing ";
  if (starts_with(text, prefix)) text = text.substr(prefix.size());
  Place place = place_of(error.source());
  if (redefines) {
    const auto column = static_cast<std::size_t>(std::max(place.column, 1) - 1);
    place = place_of_redefinition(source, place, header);
    const bool closed = text.find("cannot insert") != std::string::npos;
    text = repeated(source, place, header, column) + (closed ? " adds to a value that is complete already" : "");
  }
  std::string hint;
  if (redefines) hint = "every key and table stands once; no value was taken from either";
  if (text.find("TOML_MAX_NESTED_VALUES") != std::string::npos)
    text = "lists and tables nest at most 32 deep: got more";
  Report report(source);
  report.add(place, redefines ? "recipe.duplicate" : "recipe.syntax",
             (redefines ? "given twice: " : "this is not TOML: ") + text, hint);
  report.raise_if_any();
  throw std::logic_error("a reported fault did not raise");
}

}  // namespace

Value parse_document(const Source& source) {
  if (const int line = line_of_deep_key(source.text); line > 0) {
    Report report(source);
    report.add({line, 0}, "recipe.syntax", "keys nest at most 16 deep: got more");
    report.raise_if_any();
  }
  try {
    return Converter(source).convert(toml::parse(source.text));
  } catch (const toml::parse_error& error) {
    refuse(source, error);
  }
}

std::optional<Value> parse_value(std::string_view text) {
  if (text.find_first_of("\r\n") != std::string_view::npos || line_of_deep_key(text) > 0) return std::nullopt;
  try {
    const toml::table table = toml::parse("x = " + std::string(text));
    if (table.size() != 1) return std::nullopt;
    const Source line{{}, "x = " + std::string(text), {0}};
    return Converter(line).convert(*table.get("x"));
  } catch (const toml::parse_error&) {
    return std::nullopt;  // not TOML: the caller takes the text as a string
  }
}

}  // namespace holdfast::spec
