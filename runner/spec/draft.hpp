// A recipe between its parts' checks and the finished Recipe. Internal to spec.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "spec/check.hpp"
#include "spec/recipe.hpp"
#include "spec/tables.hpp"

namespace holdfast::spec {

/// One table of a plugin: the runner's own keys and the plugin's, checked apart.
struct DraftPlugin {
  const PluginPlace* place = nullptr;
  std::string table, plugin;
  bool enabled = true;
  Checked own, options;
  const OptionTable* declared = nullptr;  ///< the plugin's options; null when they are not known
  std::vector<Entry> unchecked;           ///< as written, when `declared` is null
};

struct Draft {
  std::map<std::string, Checked, std::less<>> runner;
  std::vector<DraftPlugin> plugins;  ///< in canonical order: model, data sets, strategies by name, hooks by name

  Checked& table(std::string_view name) { return runner.find(name)->second; }
  [[nodiscard]] const DraftPlugin* plugin(std::string_view table) const;
};

/// Puts `--set a.b=v` into the tree, untyped: the option's type decides later. A later override wins.
void apply_overrides(Value& root, const std::vector<Override>& overrides, Report& report);

/// What keys mean together, formats that no type expresses, and defaults that depend on other keys.
void apply_rules(Draft& draft, Checker& checker, const std::string& recipe_path, Report& report);

/// The effective recipe: every table and key, in canonical order.
std::string effective_toml(const Draft& draft);

/// See Recipe::choices.
std::vector<std::pair<std::string, std::string>> choices_of(const Draft& draft);

}  // namespace holdfast::spec
