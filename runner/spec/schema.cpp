// JSON Schema (draft-07) of the recipe, from the same tables that check it. An editor reads it; the checks stay the
// law. Format: json-schema.org, draft-07.
#include <nlohmann/json.hpp>

#include "spec/check.hpp"
#include "spec/recipe.hpp"
#include "spec/tables.hpp"
#include "spec/units.hpp"

namespace holdfast::spec {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kReference = R"(.*\$\{.*)";
constexpr std::string_view kNumber = R"(\s*[0-9]+(\.[0-9]+)?\s*)";
constexpr std::string_view kTimeUnit = "(ns|us|ms|s|secs?|seconds?|min|mins|minutes?|h|hours?|d|days?)";

std::string pattern(std::string_view unit) {
  return "^(" + std::string(kNumber) + std::string(unit) + R"(\s*|)" + std::string(kReference) + ")$";
}

Json bound(double value, bool integer) { return integer ? Json(static_cast<std::int64_t>(value)) : Json(value); }

Json numeric(const OptionSpec& spec, bool integer) {
  Json out = {{"type", integer ? "integer" : "number"}};
  if (spec.minimum) out[spec.exclusive_minimum ? "exclusiveMinimum" : "minimum"] = bound(*spec.minimum, integer);
  if (spec.maximum) out[spec.exclusive_maximum ? "exclusiveMaximum" : "maximum"] = bound(*spec.maximum, integer);
  return out;
}

Json closed_table(const std::vector<const OptionTable*>& tables);

Json scalar(const OptionSpec& spec, OptionType type) {
  switch (type) {
    case OptionType::kBoolean:
      return {{"type", "boolean"}};
    case OptionType::kInteger:
      return numeric(spec, true);
    case OptionType::kNumber:
      return numeric(spec, false);
    case OptionType::kDuration:
      return {{"type", "string"}, {"pattern", pattern(kTimeUnit)}};
    case OptionType::kSize:
      return {{"type", "string"}, {"pattern", pattern("([KMGT]i?)?B")}};
    case OptionType::kInterval:
      return {{"type", "string"}, {"pattern", pattern("(updates?|epochs?|" + std::string(kTimeUnit) + ")")}};
    case OptionType::kTable:
      return closed_table({spec.table.get()});
    default:
      break;
  }
  Json out = {{"type", "string"}};
  if (type == OptionType::kPath) out["minLength"] = 1;
  if (!spec.choices.empty()) out["enum"] = spec.choices;
  return out;
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

Json option(const OptionSpec& spec) {
  if (!spec.not_built.empty()) return {{"description", spec.help + " Not yet built."}, {"not", Json::object()}};
  const OptionType item = item_type(spec.type);
  Json out = scalar(spec, item);
  if (is_list(spec)) {
    Json list = {{"type", "array"}, {"items", out}};
    if (spec.minimum_items > 0) list["minItems"] = spec.minimum_items;
    out = spec.single_allowed ? Json{{"anyOf", Json::array({out, list})}} : list;
  }
  if (!spec.help.empty()) out["description"] = spec.help;
  if (spec.fallback) out["default"] = std::visit(Fallback{}, *spec.fallback);
  return out;
}

/// A table with the keys of all `tables` and no other.
Json closed_table(const std::vector<const OptionTable*>& tables) {
  Json properties = Json::object(), required = Json::array();
  for (const OptionTable* table : tables)
    for (const auto& spec : table->specs()) {
      properties[spec->name] = option(*spec);
      if (spec->is_required) required.push_back(spec->name);
    }
  Json out = {{"type", "object"}, {"properties", properties}};
  if (!required.empty()) out["required"] = required;
  out["additionalProperties"] = false;
  return out;
}

/// What no option type expresses: formats and rules of single tables.
void refine(Json& tables) {
  tables["run"]["properties"]["device"]["pattern"] = R"(^(auto|cpu|cuda(:[0-9]{1,3})?|.*\$\{.*)$)";
  tables["checkpoint"]["properties"]["best"]["pattern"] = R"(^(eval\..+:(min|max)|.*\$\{.*)$)";
  tables["checkpoint"]["properties"]["async"]["const"] = false;
  Json& betas = tables["optimizer"]["properties"]["betas"];
  betas["minItems"] = betas["maxItems"] = 2;
  Json built = Json::array();
  for (const Rung& rung : rungs())
    if (rung.built) built.push_back(rung.name);
  Json& ladder = tables["memory"]["properties"]["on_oom"];
  ladder["items"]["enum"] = built;
  ladder["uniqueItems"] = true;
  tables["train"]["oneOf"] = Json::array({{{"required", {"epochs"}}}, {{"required", {"updates"}}}});
}

class Plugins {
 public:
  explicit Plugins(Catalog* catalog) : catalog_(catalog) {}

  /// The table at a place where `plugin` decides what else is allowed.
  Json chosen_by_plugin(const PluginPlace& place) {
    if (!catalog_) return open_table(place);
    Json out = {{"type", "object"}, {"description", place.help}, {"required", {"plugin"}}};
    Json names = Json::array(), cases = Json::array();
    for (const std::string& name : usable(place)) {
      names.push_back(name);
      cases.push_back({{"if", {{"properties", {{"plugin", {{"const", name}}}}}, {"required", {"plugin"}}}},
                       {"then", table_of(place, name)}});
    }
    out["properties"] = {{"plugin", {{"type", "string"}, {"enum", names}}}};
    out["properties"]["plugin"]["description"] = place.keys->find("plugin")->help;
    if (!cases.empty()) out["allOf"] = cases;
    return out;
  }

  /// [strategy.NAME] and [hook.NAME]: NAME is the plugin unless the table says otherwise.
  Json named(const PluginPlace& place) {
    Json out = {{"type", "object"}, {"description", place.help}};
    const Json other = chosen_by_plugin(place);
    if (catalog_) {
      out["properties"] = Json::object();
      for (const std::string& name : usable(place))
        out["properties"][name] = {
            {"if", {{"required", {"plugin"}}}}, {"then", other}, {"else", table_of(place, name)}};
    }
    out["additionalProperties"] = other;
    return out;
  }

 private:
  /// Without a catalog a plugin's options are not known.
  static Json open_table(const PluginPlace& place) {
    Json out = closed_table({place.keys});
    out["description"] = place.help;
    out["additionalProperties"] = true;
    return out;
  }

  const OptionTable* options_of(const PluginPlace& place, const std::string& plugin) {
    Catalog::Refusal not_told;  // a plugin that cannot be loaded has no schema
    return catalog_->options(place.kind, plugin, not_told);
  }

  std::vector<std::string> usable(const PluginPlace& place) {
    std::vector<std::string> names = catalog_->names(place.kind);
    std::erase_if(names, [&](const std::string& name) { return options_of(place, name) == nullptr; });
    return names;
  }

  Json table_of(const PluginPlace& place, const std::string& plugin) {
    return closed_table({place.keys, options_of(place, plugin)});
  }

  Catalog* catalog_;
};

}  // namespace

std::string json_schema(Catalog* catalog) {
  Plugins plugins(catalog);
  Json tables = Json::object(), data = Json::object();
  for (const RunnerTable& table : runner_tables()) {
    Json& place = tables[std::string(table.name)];
    place = closed_table({table.keys});
    place["description"] = table.help;
  }
  refine(tables);
  tables["model"] = plugins.chosen_by_plugin(plugin_place("model"));
  data["train"] = plugins.chosen_by_plugin(plugin_place("dataset.train"));
  data["eval"] = plugins.chosen_by_plugin(plugin_place("dataset.eval"));
  tables["dataset"] = {{"type", "object"},
                       {"description", "The data sets."},
                       {"properties", data},
                       {"required", {"train"}},
                       {"additionalProperties", false}};
  tables["strategy"] = plugins.named(plugin_place("strategy"));
  tables["hook"] = plugins.named(plugin_place("hook"));
  const Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                       {"title", "holdfast recipe"},
                       {"type", "object"},
                       {"properties", tables},
                       {"required", {"model", "dataset", "train"}},
                       {"additionalProperties", false}};
  return schema.dump(2) + "\n";
}

}  // namespace holdfast::spec
