// Single values: types, bounds, units, one sentence a fault.
#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "spec/check.hpp"
#include "spec/parse.hpp"
#include "spec/units.hpp"

namespace holdfast::spec {
namespace {

/// `"adamw", "sgd"`.
std::string quoted_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + quote(word);
  return text;
}

/// A text with a unit, measured: its value, canonical TOML and size in the unit of bounds, or why it is none.
struct Measured {
  std::string meant;
  std::optional<OptionValue> value = std::nullopt;
  std::string toml = {}, problem = {}, hint = {};
  double amount = 0;
};

Measured measure(OptionType type, const std::string& text) {
  Measured out{type == OptionType::kDuration ? "a duration" : type == OptionType::kSize ? "a size" : "an interval"};
  const auto take = [&](const auto& parsed, const auto& format) {
    out.problem = parsed.problem;
    out.hint = parsed.hint;
    if (!parsed.value) return false;
    out.value = *parsed.value;
    out.toml = quote(format(*parsed.value));
    return true;
  };
  if (type == OptionType::kDuration) {
    const auto parsed = parse_duration(text);
    if (take(parsed, format_duration)) out.amount = static_cast<double>(parsed.value->count()) / 1e9;
  } else if (type == OptionType::kSize) {
    const auto parsed = parse_size(text);
    if (take(parsed, format_size)) out.amount = static_cast<double>(parsed.value->count);
  } else {
    take(parse_interval(text), format_interval);
  }
  return out;
}

}  // namespace

std::optional<Checker::Found> Checker::text(const OptionSpec& spec, const Value& value, const std::string& name) {
  const std::optional<Text> found = spec.type == OptionType::kPath ? path(value, name) : expand(value, name);
  if (!found) return std::nullopt;
  const auto& words = spec.choices;
  if (!words.empty() && std::find(words.begin(), words.end(), found->expanded) == words.end()) {
    std::string message = "'" + name + "' must be one of " + quoted_list(words) + ": got " + describe_value(value);
    const std::string near = base::nearest_name(value.text, words).value_or("");
    if (!near.empty()) message += "; did you mean " + quote(near) + "?";
    report_.add(value.place, "recipe.not_a_choice", std::move(message));
    return std::nullopt;
  }
  return Found{found->expanded, quote(found->raw)};
}

std::optional<Checker::Found> Checker::quantity(const OptionSpec& spec, const Value& value, const std::string& name) {
  if (value.type != Value::Type::kString) {
    const Measured none = measure(spec.type, "");
    wrong_type(value, name, none.meant + " with a unit, as a string", none.hint);
    return std::nullopt;
  }
  const std::optional<Text> text = expand(value, name);
  if (!text) return std::nullopt;
  const bool has_references = text->expanded != text->raw;
  Measured measured = measure(spec.type, text->expanded);
  if (!measured.value) {
    // The clause may quote a piece of the text: never of an expanded one.
    if (has_references) measured.problem = "is none after its references are replaced";
    report_.add(value.place, "recipe.bad_quantity",
                "'" + name + "' must be " + measured.meant + ": " + describe_value(value) + " " + measured.problem,
                measured.hint);
    return std::nullopt;
  }
  if (spec.type != OptionType::kInterval && !in_bounds(spec, measured.amount, value, name)) return std::nullopt;
  return Found{std::move(*measured.value), has_references ? quote(text->raw) : std::move(measured.toml)};
}

std::optional<std::int64_t> Checker::integer(const OptionSpec& spec, const Value& value, const std::string& name) {
  if (value.type == Value::Type::kInteger) {
    if (!in_bounds(spec, static_cast<double>(value.integer), value, name)) return std::nullopt;
    return value.integer;
  }
  std::string hint;
  if (value.type == Value::Type::kFloat && value.number == std::floor(value.number) && std::abs(value.number) < 1e15)
    hint = "write " + std::to_string(static_cast<std::int64_t>(value.number));
  if (value.type == Value::Type::kString) {
    const auto inner = parse_value(value.text);
    if (inner && inner->type == Value::Type::kInteger)
      hint = "write " + base::shortened(value.text) + " without quotes";
  }
  wrong_type(value, name, "an integer", hint);
  return std::nullopt;
}

std::optional<double> Checker::number(const OptionSpec& spec, const Value& value, const std::string& name) {
  if (value.type == Value::Type::kInteger || value.type == Value::Type::kFloat) {
    const double real = value.type == Value::Type::kInteger ? static_cast<double>(value.integer) : value.number;
    if (!std::isfinite(real)) {
      wrong_type(value, name, "a finite number");
      return std::nullopt;
    }
    if (!in_bounds(spec, real, value, name)) return std::nullopt;
    return real;
  }
  std::string hint;
  if (value.type == Value::Type::kString) {
    const auto inner = parse_value(value.text);
    const bool numeric = inner && (inner->type == Value::Type::kInteger || inner->type == Value::Type::kFloat);
    if (numeric) hint = "write " + base::shortened(value.text) + " without quotes";
  }
  wrong_type(value, name, "a number", hint);
  return std::nullopt;
}

bool Checker::in_bounds(const OptionSpec& spec, double number, const Value& value, const std::string& name) {
  const bool low = spec.minimum && (spec.exclusive_minimum ? number <= *spec.minimum : number < *spec.minimum);
  const bool high = spec.maximum && (spec.exclusive_maximum ? number >= *spec.maximum : number > *spec.maximum);
  if (!low && !high) return true;
  report_.add(value.place, "recipe.out_of_range",
              "'" + name + "' must be " + bounds_text(spec) + ": got " + describe_value(value));
  return false;
}

void Checker::wrong_type(const Value& value, const std::string& name, const std::string& meant, std::string hint) {
  report_.add(value.place, "recipe.wrong_type", "'" + name + "' must be " + meant + ": got " + describe_value(value),
              std::move(hint));
}

}  // namespace holdfast::spec
