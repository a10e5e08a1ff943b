// Every table and key of the runner, declared once: checks, defaults, JSON Schema and docs read these declarations.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/component_kind.hpp"
#include "holdfast/component.hpp"
#include "holdfast/options.hpp"

namespace holdfast::spec {

/// A table that belongs to the runner alone.
struct RunnerTable {
  std::string_view name;
  std::string_view help;
  const OptionTable* keys;
};

/// In the order in which effective recipes, the schema and the docs list them: run, loader, train, optimizer, schedule,
/// memory, checkpoint, supervise, metrics, log, plugins. The tables live as long as the process.
std::span<const RunnerTable> runner_tables();

/// The first runner table with this key; empty when there is none.
std::string_view table_with_key(std::string_view key);

/// A place where a plugin's options stand; `keys` are the runner's own keys beside them.
struct PluginPlace {
  std::string_view name;  ///< "model", "dataset.train", "dataset.eval", "strategy", "hook"
  std::string_view help;
  Kind kind;
  bool many;  ///< one table per NAME below it
  bool is_required;
  const OptionTable* keys;
};

std::span<const PluginPlace> plugin_places();
const PluginPlace& plugin_place(std::string_view name);

/// A member of the safe set: there unless its table says `enabled = false`.
struct SafeMember {
  std::string_view place;   ///< "hook"
  std::string_view plugin;  ///< also its NAME
};
std::span<const SafeMember> safe_set();

using base::kind_name;

/// The rungs of memory.on_oom, mildest first: its default.
std::span<const std::string_view> rungs();

}  // namespace holdfast::spec
