// One TOML table against its declared options: types, bounds, units, references, paths, defaults. Internal to spec;
// does not know what keys mean together.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/options.hpp"
#include "spec/source.hpp"
#include "spec/value.hpp"

namespace holdfast::spec {

using Environment = std::function<std::optional<std::string>(std::string_view)>;

/// Where relative paths start: those of the file and those of overrides.
struct Folders {
  std::string recipe, working;
};

/// A table after its check: values for the program, lines for the effective recipe, places for later rules.
struct Checked {
  Options options;
  std::map<std::string, std::string> toml;  ///< key to TOML text, ${NAME} kept
  std::map<std::string, Place> given;       ///< keys that the user wrote
  Place place;                              ///< of the table
};

class Checker {
 public:
  Checker(Report& report, Folders folders, Environment environment)
      : report_(report), folders_(std::move(folders)), environment_(std::move(environment)) {}

  enum class Unknown { kReport, kSkip };
  /// Checks the entries that `keys` declares; the rest is unknown, unless `others` declares it. A faulty value is
  /// reported and left out. `where` is the table's name.
  Checked table(const OptionTable& keys, const Value& table, const std::string& where,
                const OptionTable* others = nullptr, Unknown unknown = Unknown::kReport);

  struct Found {
    OptionValue value;
    std::string toml;
  };
  /// One value; `name` is the full key for messages.
  std::optional<Found> value(const OptionSpec& spec, Value value, const std::string& name);

  /// Sets a key that was not given.
  static void set_default(Checked& checked, const OptionSpec& spec, const OptionValue& value);

 private:
  struct Text {
    std::string expanded, raw;
  };

  void unknown_key(const OptionTable& keys, const OptionTable* others, const Entry& entry, const std::string& where);
  void defaults(const OptionTable& keys, const std::string& where, Checked& checked);
  std::optional<Found> list(const OptionSpec& spec, const Value& value, const std::string& name);
  std::optional<Found> nested(const OptionSpec& spec, const Value& value, const std::string& name);
  std::optional<Found> text(const OptionSpec& spec, const Value& value, const std::string& name);
  std::optional<Found> quantity(const OptionSpec& spec, const Value& value, const std::string& name);
  std::optional<std::int64_t> integer(const OptionSpec& spec, const Value& value, const std::string& name);
  std::optional<double> number(const OptionSpec& spec, const Value& value, const std::string& name);
  std::optional<Text> expand(const Value& value, const std::string& name);
  std::optional<Text> path(const Value& value, const std::string& name);
  bool in_bounds(const OptionSpec& spec, double number, const Value& value, const std::string& name);
  void wrong_type(const Value& value, const std::string& name, const std::string& meant, std::string hint = {});

  Report& report_;
  Folders folders_;
  Environment environment_;
};

/// Whether the program reads a list; an option that takes one value or several is one.
bool is_list(const OptionSpec& spec);
/// kInteger for kIntegers, ...; the type itself when it is no list.
OptionType item_type(OptionType type);
/// "at least 1", "between 1 and 100", "above 0"; empty without bounds. In the unit of the option: seconds, bytes.
std::string bounds_text(const OptionSpec& spec);
/// A default as TOML text.
std::string default_text(const OptionValue& value);
/// `text` with "$${" for each "${", so that no reference is seen in it.
std::string escape_references(std::string_view text);
/// Absolute and tidied: "." and doubled slashes go; "x/.." goes unless x is a symbolic link, so that the path means
/// what the system makes of it.
std::string absolute_path(const std::string& folder, const std::string& path);

}  // namespace holdfast::spec
