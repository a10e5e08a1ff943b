// The recipe reference: the declarations that check a recipe, in their order, as a Markdown page.
#include "spec/describe.hpp"
#include "spec/recipe.hpp"
#include "spec/tables.hpp"

namespace holdfast::spec {
namespace {

constexpr const char* kOpening =
    "# Recipe reference\n\n"
    "Every table and key of a recipe, written by `holdfast schema --markdown`. A plugin's options stand in the table "
    "that\n"
    "names it, beside the runner's own keys. Durations (`\"90 s\"`, `\"10 min\"`, `\"24h\"`), sizes (`\"512MiB\"`, "
    "`\"2GB\"`) and\n"
    "intervals (`\"500 updates\"`, `\"1 epoch\"`, `\"10 min\"`) are strings with units. Paths start at the recipe's "
    "folder.\n";

std::string section(const std::string& heading, std::string_view help, const OptionTable& keys) {
  std::string text = "\n" + heading + "\n\n" + std::string(help) + "\n";
  return keys.specs().empty() ? text + "No options.\n" : text + "\n" + describe_markdown(keys);
}

std::string place_name(const PluginPlace& place) { return std::string(place.name) + (place.many ? ".NAME" : ""); }

/// The components of one kind. A plugin that cannot be loaded has no options to tell.
std::string components(Kind kind, Catalog& catalog) {
  std::string text;
  for (const auto& name : catalog.names(kind)) {
    Catalog::Refusal refusal;
    const OptionTable* options = catalog.options(kind, name, refusal);
    if (options) text += section("### " + std::string(kind_name(kind)) + " `" + name + "`", "", *options);
  }
  return text;
}

}  // namespace

std::string recipe_reference(Catalog* catalog) {
  std::string text = kOpening;
  text += "\n## The runner's tables\n";
  for (const RunnerTable& table : runner_tables())
    text += section("### `[" + std::string(table.name) + "]`", table.help, *table.keys);
  text += "\n## Tables with a plugin\n";
  for (const PluginPlace& place : plugin_places())
    text += section("### `[" + place_name(place) + "]`", place.help, *place.keys);
  if (!catalog) return text;
  text += "\n## Options of the plugins\n";
  for (const Kind kind : {Kind::kModel, Kind::kDataset, Kind::kStrategy, Kind::kHook})
    text += components(kind, *catalog);
  return text;
}

}  // namespace holdfast::spec
