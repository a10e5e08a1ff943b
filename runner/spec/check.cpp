// Tables and lists; single values are check_scalar.cpp.
#include "spec/check.hpp"

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "spec/parse.hpp"
#include "spec/tables.hpp"
#include "spec/units.hpp"

namespace holdfast::spec {
namespace {

OptionSpec item_spec(const OptionSpec& list) {
  OptionSpec item = list;
  item.type = item_type(list.type);
  item.single_allowed = false;
  return item;
}

bool is_text(OptionType type) {
  return type == OptionType::kString || type == OptionType::kPath || type == OptionType::kDuration ||
         type == OptionType::kSize || type == OptionType::kInterval;
}

/// The text of an override as the value its option means: TOML, or the bare text where a string is meant.
Value from_raw(const OptionSpec& spec, const Value& raw) {
  const std::string_view text = raw.text;
  const char first = text.empty() ? '\0' : text.front();
  const bool quoted = first == '"' || first == '\'';
  const bool scalar_text = is_text(item_type(spec.type)) && (!is_list(spec) || (spec.single_allowed && first != '['));
  std::optional<Value> parsed;
  if (!scalar_text || quoted) parsed = parse_value(text);
  if (!parsed) {
    parsed = Value{};
    parsed->type = Value::Type::kString;
    parsed->text = raw.text;
  }
  const auto move_here = [&](auto& self, Value& value) -> void {
    value.place = raw.place;
    for (Value& item : value.items) self(self, item);
    for (Entry& entry : value.entries) {
      entry.place = raw.place;
      self(self, entry.value);
    }
  };
  move_here(move_here, *parsed);
  return std::move(*parsed);
}

std::string list_words(OptionType item) {
  switch (item) {
    case OptionType::kInteger:
      return "a list of integers";
    case OptionType::kNumber:
      return "a list of numbers";
    case OptionType::kPath:
      return "a list of paths";
    default:
      return "a list of strings";
  }
}

std::vector<std::string> key_names(const OptionTable& keys, const OptionTable* others) {
  std::vector<std::string> names;
  for (const auto& spec : keys.specs()) names.push_back(spec->name);
  if (others)
    for (const auto& spec : others->specs()) names.push_back(spec->name);
  return names;
}

}  // namespace

bool is_list(const OptionSpec& spec) {
  return spec.single_allowed || spec.type == OptionType::kIntegers || spec.type == OptionType::kNumbers ||
         spec.type == OptionType::kStrings || spec.type == OptionType::kPaths;
}

OptionType item_type(OptionType type) {
  switch (type) {
    case OptionType::kIntegers:
      return OptionType::kInteger;
    case OptionType::kNumbers:
      return OptionType::kNumber;
    case OptionType::kStrings:
      return OptionType::kString;
    case OptionType::kPaths:
      return OptionType::kPath;
    default:
      return type;
  }
}

Checked Checker::table(const OptionTable& keys, const Value& table, const std::string& where, const OptionTable* others,
                       Unknown unknown) {
  Checked checked;
  checked.place = table.place;
  for (const Entry& entry : table.entries) {
    if (report_.full()) break;
    const OptionSpec* spec = keys.find(entry.key);
    if (!spec) {
      const bool known = unknown == Unknown::kSkip || (others && others->find(entry.key));
      if (!known) unknown_key(keys, others, entry, where);
      continue;
    }
    const std::string name = where + "." + entry.key;
    checked.given[entry.key] = entry.value.place;
    if (!spec->not_built.empty()) {
      report_.add(entry.place, "recipe.not_built",
                  "'" + name + "' is not yet built: " + spec->not_built + " comes later", "leave the key out");
      continue;
    }
    if (std::optional<Found> found = value(*spec, entry.value, name)) {
      checked.options.set(entry.key, std::move(found->value));
      checked.toml[entry.key] = std::move(found->toml);
    }
  }
  defaults(keys, where, checked);
  return checked;
}

void Checker::unknown_key(const OptionTable& keys, const OptionTable* others, const Entry& entry,
                          const std::string& where) {
  const std::vector<std::string> names = key_names(keys, others);
  const std::string near = base::nearest_name(entry.key, names).value_or("");
  std::string message = "no such key in [" + where + "]: got '" + base::shortened(entry.key) + "'";
  std::string hint;
  if (!near.empty()) {
    message += "; did you mean '" + near + "'?";
  } else if (const std::string_view home = table_with_key(entry.key); !home.empty()) {
    hint = "'" + entry.key + "' belongs in [" + std::string(home) + "]";
  } else {
    for (const std::string& name : names) hint += (hint.empty() ? "its keys are " : ", ") + name;
  }
  report_.add(entry.place, "recipe.unknown_key", std::move(message), std::move(hint));
}

void Checker::set_default(Checked& checked, const OptionSpec& spec, const OptionValue& value) {
  OptionValue stored = value;
  // A list that may be written as one value is a list to its reader, also by default.
  if (spec.single_allowed) {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) stored = std::vector<std::int64_t>{*whole};
    if (const auto* real = std::get_if<double>(&value)) stored = std::vector<double>{*real};
    if (const auto* word = std::get_if<std::string>(&value)) stored = std::vector<std::string>{*word};
  }
  checked.toml[spec.name] = default_text(stored);
  checked.options.set(spec.name, std::move(stored));
}

void Checker::defaults(const OptionTable& keys, const std::string& where, Checked& checked) {
  for (const auto& spec : keys.specs()) {
    if (checked.given.contains(spec->name)) continue;
    if (spec->is_required) {
      report_.add(checked.place, "recipe.missing_key", "[" + where + "] needs the key '" + spec->name + "'",
                  spec->help);
    } else if (spec->fallback) {
      set_default(checked, *spec, *spec->fallback);
    }
  }
}

std::optional<Checker::Found> Checker::value(const OptionSpec& spec, Value value, const std::string& name) {
  if (value.type == Value::Type::kRaw) value = from_raw(spec, value);
  if (is_list(spec)) return list(spec, value, name);
  switch (spec.type) {
    case OptionType::kBoolean:
      if (value.type == Value::Type::kBoolean) return Found{value.boolean, value.boolean ? "true" : "false"};
      wrong_type(value, name, "true or false",
                 value.text == "true" || value.text == "false" ? "write " + value.text + " without quotes" : "");
      return std::nullopt;
    case OptionType::kInteger:
      if (const auto number = integer(spec, value, name)) return Found{*number, std::to_string(*number)};
      return std::nullopt;
    case OptionType::kNumber:
      if (const auto real = number(spec, value, name)) return Found{*real, format_number(*real)};
      return std::nullopt;
    case OptionType::kTable:
      return nested(spec, value, name);
    case OptionType::kString:
    case OptionType::kPath:
      return text(spec, value, name);
    default:
      return quantity(spec, value, name);
  }
}

std::optional<Checker::Found> Checker::list(const OptionSpec& spec, const Value& value, const std::string& name) {
  const OptionSpec item = item_spec(spec);
  std::vector<Value> items = value.items;
  if (value.type != Value::Type::kArray) {
    if (!spec.single_allowed) {
      wrong_type(value, name, list_words(item.type), "write [...] around it");
      return std::nullopt;
    }
    items = {value};
  }
  if (static_cast<std::int64_t>(items.size()) < spec.minimum_items) {
    report_.add(value.place, "recipe.out_of_range",
                "'" + name + "' must have at least " + std::to_string(spec.minimum_items) + " item" +
                    (spec.minimum_items == 1 ? "" : "s") + ": got " + std::to_string(items.size()));
    return std::nullopt;
  }
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  std::vector<std::string> strings;
  std::string toml;
  bool good = true;
  for (std::size_t i = 0; i < items.size() && !report_.full(); ++i) {
    const bool single = value.type != Value::Type::kArray;
    std::optional<Found> found = this->value(item, items[i], single ? name : name + "[" + std::to_string(i) + "]");
    good = good && found.has_value();
    if (!found) continue;
    if (const auto* whole = std::get_if<std::int64_t>(&found->value)) integers.push_back(*whole);
    if (const auto* real = std::get_if<double>(&found->value)) numbers.push_back(*real);
    if (auto* word = std::get_if<std::string>(&found->value)) strings.push_back(std::move(*word));
    toml += (toml.empty() ? "" : ", ") + found->toml;
  }
  if (!good) return std::nullopt;
  toml = "[" + toml + "]";
  if (item.type == OptionType::kInteger) return Found{std::move(integers), std::move(toml)};
  if (item.type == OptionType::kNumber) return Found{std::move(numbers), std::move(toml)};
  return Found{std::move(strings), std::move(toml)};
}

std::optional<Checker::Found> Checker::nested(const OptionSpec& spec, const Value& value, const std::string& name) {
  if (value.type != Value::Type::kTable) {
    wrong_type(value, name, "a table");
    return std::nullopt;
  }
  Checked inner = table(*spec.table, value, name);
  std::string toml;
  for (const auto& key : spec.table->specs())
    if (const auto found = inner.toml.find(key->name); found != inner.toml.end())
      toml += (toml.empty() ? "" : ", ") + quote_key(key->name) + " = " + found->second;
  return Found{std::make_shared<const Options>(std::move(inner.options)), toml.empty() ? "{}" : "{ " + toml + " }"};
}

}  // namespace holdfast::spec
