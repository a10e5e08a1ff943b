// Types, bounds, choices and quantities as JSON Schema, no laxer and no stricter than check_scalar.cpp where draft-07
// has the words: bounds of quantities are beyond it.
#include "spec/schema_option.hpp"

#include <cstdint>
#include <memory>
#include <variant>

#include "spec/check.hpp"
#include "spec/units.hpp"

namespace holdfast::spec {
namespace {

constexpr const char* kNumber = R"(([0-9]+(\.[0-9]+)?|\.[0-9]+))";
constexpr const char* kPositive = R"(([0-9]*[1-9][0-9]*(\.[0-9]+)?|[0-9]*\.[0-9]*[1-9][0-9]*))";
constexpr const char* kWholePositive = "[0-9]*[1-9][0-9]*";
constexpr const char* kTimeUnit = "(ns|us|ms|s|secs?|seconds?|mins?|minutes?|h|hours?|d|days?)";
constexpr const char* kSizeUnit = "([KMGT]i?)?B";
/// Not empty, no control characters, and no "~" that only a shell replaces.
constexpr const char* kPath = R"(^([^~\x00-\x1f\x7f]|~[^/\x00-\x1f\x7f])[^\x00-\x1f\x7f]*$)";

std::string quantity(const std::string& number, const std::string& unit) {
  return R"([ \t]*)" + number + R"([ \t]*)" + unit + R"([ \t]*)";
}

/// Bounds are not expressible, but whether zero lies within them is.
const char* amount(const OptionSpec& spec) {
  return spec.minimum && (*spec.minimum > 0 || spec.exclusive_minimum) ? kPositive : kNumber;
}

Json text_schema(const std::string& body) { return {{"type", "string"}, {"pattern", anchored_pattern(body)}}; }

Json bound(double value, bool integer) { return integer ? Json(static_cast<std::int64_t>(value)) : Json(value); }

Json numeric(const OptionSpec& spec, bool integer) {
  Json out = {{"type", integer ? "integer" : "number"}};
  if (spec.minimum) out[spec.exclusive_minimum ? "exclusiveMinimum" : "minimum"] = bound(*spec.minimum, integer);
  if (spec.maximum) out[spec.exclusive_maximum ? "exclusiveMaximum" : "maximum"] = bound(*spec.maximum, integer);
  return out;
}

Json words(const OptionSpec& spec) {
  Json out = {{"type", "string"}};
  if (!spec.choices.empty()) out["anyOf"] = Json::array({{{"enum", spec.choices}}, {{"pattern", kReferencePattern}}});
  return out;
}

Json scalar(const OptionSpec& spec, OptionType type) {
  switch (type) {
    case OptionType::kBoolean:
      return {{"type", "boolean"}};
    case OptionType::kInteger:
      return numeric(spec, true);
    case OptionType::kNumber:
      return numeric(spec, false);
    case OptionType::kDuration:
      return text_schema(quantity(amount(spec), kTimeUnit));
    case OptionType::kSize:
      return text_schema(quantity(amount(spec), kSizeUnit));
    case OptionType::kInterval:
      return text_schema(update_count_pattern() + "|" + quantity(kWholePositive, "epochs?") + "|" +
                         quantity(kPositive, kTimeUnit));
    case OptionType::kTable:
      return table_schema({spec.table.get()});
    case OptionType::kPath:
      return {{"type", "string"}, {"pattern", kPath}};
    default:
      return words(spec);
  }
}

/// A default as JSON: quantities as the recipe writes them.
struct Fallback {
  Json operator()(Duration value) const { return format_duration(value); }
  Json operator()(Bytes value) const { return format_size(value); }
  Json operator()(const Interval& value) const { return format_interval(value); }
  Json operator()(const std::shared_ptr<const Options>& value) const {
    Json out = Json::object();
    for (const auto& [key, item] : value->values()) out[key] = std::visit(*this, item);
    return out;
  }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

}  // namespace

std::string anchored_pattern(const std::string& body) { return "^(" + body + R"(|.*\$\{.*)$)"; }

std::string update_count_pattern() { return quantity(kWholePositive, "updates?"); }

Json option_schema(const OptionSpec& spec) {
  if (!spec.not_built.empty()) return {{"description", spec.help + " Not yet built."}, {"not", Json::object()}};
  Json out = scalar(spec, item_type(spec.type));
  if (is_list(spec)) {
    Json list = {{"type", "array"}, {"items", out}};
    if (spec.minimum_items > 0) list["minItems"] = spec.minimum_items;
    out = spec.single_allowed ? Json{{"anyOf", Json::array({out, list})}} : list;
  }
  if (!spec.help.empty()) out["description"] = spec.help;
  if (spec.fallback) out["default"] = std::visit(Fallback{}, *spec.fallback);
  return out;
}

Json table_schema(const std::vector<const OptionTable*>& tables) {
  Json properties = Json::object(), required = Json::array();
  for (const OptionTable* table : tables)
    for (const auto& spec : table->specs()) {
      properties[spec->name] = option_schema(*spec);
      if (spec->is_required) required.push_back(spec->name);
    }
  Json out = {{"type", "object"}, {"properties", properties}};
  if (!required.empty()) out["required"] = required;
  out["additionalProperties"] = false;
  return out;
}

}  // namespace holdfast::spec
