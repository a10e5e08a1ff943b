// A recipe as a tree of values with their places, before any check. Internal to spec; knows no schema.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::spec {

/// Where a value or key stands: in the file (line, column from 1), or in an override ("--set a.b=v").
struct Place {
  int line = 0, column = 0;
  std::string override_text = {};  ///< non-empty: the whole override as typed
};

struct Entry;

struct Value {
  /// kRaw is the text of an override; the option it is for decides what it means.
  enum class Type { kBoolean, kInteger, kFloat, kString, kDate, kArray, kTable, kRaw };
  Type type = Type::kTable;
  Place place = {};
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string text = {};            ///< kString: the content; kRaw: as typed
  std::string written = {};         ///< scalars: as the source writes it, quotes included
  std::vector<Value> items = {};    ///< kArray
  std::vector<Entry> entries = {};  ///< kTable

  [[nodiscard]] const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
};

struct Entry {
  std::string key;
  Place place = {};
  Value value = {};
};

/// What the value is, for "got ...": `the string "4"`, `32.0`, `a table`. Long texts are shortened.
std::string describe_value(const Value& value);
/// A value as TOML text on one line.
std::string to_toml(const Value& value);
/// A TOML basic string, escaped and quoted.
std::string quote(std::string_view text);
/// A TOML key, quoted only when it must be.
std::string quote_key(std::string_view key);

}  // namespace holdfast::spec
