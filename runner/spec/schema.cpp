// JSON Schema (draft-07) of the recipe, from the same tables that check it. An editor reads it; the checks stay the
// law. Format: json-schema.org, draft-07.
#include "spec/recipe.hpp"
#include "spec/schema_option.hpp"
#include "spec/schema_rules.hpp"
#include "spec/tables.hpp"

namespace holdfast::spec {
namespace {

constexpr const char* kPluginName = "^[a-z0-9_]{1,63}$";
constexpr const char* kTableName = "^[A-Za-z0-9_-]{1,64}$";

class Plugins {
 public:
  explicit Plugins(Catalog* catalog) : catalog_(catalog) {}

  /// The table at a place where `plugin` decides what else is allowed. The options of a plugin that the catalog does
  /// not know are open.
  Json chosen_by_plugin(const PluginPlace& place) {
    Json out = open_table(place);
    Json& plugin = out["properties"]["plugin"];
    plugin["pattern"] = kPluginName;
    if (!catalog_) return out;
    Json cases = Json::array();
    for (const std::string& name : usable(place))
      cases.push_back({{"if", {{"properties", {{"plugin", {{"const", name}}}}}, {"required", {"plugin"}}}},
                       {"then", table_of(place, name)}});
    plugin["anyOf"] = Json::array({{{"enum", usable(place)}}, Json::object()});  // for completion in editors
    if (!cases.empty()) out["allOf"] = cases;
    return out;
  }

  /// [strategy.NAME] and [hook.NAME]: NAME is the plugin unless the table says otherwise.
  Json named(const PluginPlace& place) {
    Json out = {{"type", "object"}, {"description", place.help}, {"propertyNames", {{"pattern", kTableName}}}};
    const Json other = chosen_by_plugin(place);
    if (catalog_) {
      out["properties"] = Json::object();
      for (const std::string& name : usable(place))
        out["properties"][name] = {{"description", place.help},
                                   {"if", {{"required", {"plugin"}}}},
                                   {"then", other},
                                   {"else", table_of(place, name)}};
    }
    out["additionalProperties"] = other;
    return out;
  }

  /// Without `[plugins] search` there are no plugins but those of the catalog.
  Json only_known() {
    const auto known = [&](std::string_view name) -> Json {
      return {{"properties", {{"plugin", {{"enum", usable(plugin_place(name))}}}}}};
    };
    const auto known_tables = [&](std::string_view name) {
      Json out = {{"properties", Json::object()}, {"additionalProperties", known(name)}};
      for (const std::string& plugin : usable(plugin_place(name))) out["properties"][plugin] = known(name);
      out["additionalProperties"]["required"] = {"plugin"};
      return out;
    };
    const Json data = {{"properties", {{"train", known("dataset.train")}, {"eval", known("dataset.eval")}}}};
    const Json searches = {{"required", {"plugins"}}, {"properties", {{"plugins", {{"required", {"search"}}}}}}};
    return {{"if", {{"not", searches}}},
            {"then",
             {{"properties",
               {{"model", known("model")},
                {"dataset", data},
                {"strategy", known_tables("strategy")},
                {"hook", known_tables("hook")}}}}}};
  }

 private:
  static Json open_table(const PluginPlace& place) {
    Json out = table_schema({place.keys});
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
    return table_schema({place.keys, options_of(place, plugin)});
  }

  Catalog* catalog_;
};

Json dataset_table(Plugins& plugins) {
  const Json data = {{"train", plugins.chosen_by_plugin(plugin_place("dataset.train"))},
                     {"eval", plugins.chosen_by_plugin(plugin_place("dataset.eval"))}};
  return {{"type", "object"},
          {"description", "The data sets."},
          {"properties", data},
          {"required", {"train"}},
          {"additionalProperties", false}};
}

}  // namespace

std::string json_schema(Catalog* catalog) {
  Plugins plugins(catalog);
  Json tables = Json::object();
  for (const RunnerTable& table : runner_tables()) {
    Json& place = tables[std::string(table.name)];
    place = table_schema({table.keys});
    place["description"] = table.help;
  }
  add_table_rules(tables);
  tables["model"] = plugins.chosen_by_plugin(plugin_place("model"));
  tables["dataset"] = dataset_table(plugins);
  tables["strategy"] = plugins.named(plugin_place("strategy"));
  tables["hook"] = plugins.named(plugin_place("hook"));
  Json rules = recipe_rules();
  if (catalog) rules.push_back(plugins.only_known());
  const Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                       {"title", "holdfast recipe"},
                       {"type", "object"},
                       {"properties", tables},
                       {"required", {"model", "dataset", "train"}},
                       {"additionalProperties", false},
                       {"allOf", rules}};
  return schema.dump(2) + "\n";
}

}  // namespace holdfast::spec
