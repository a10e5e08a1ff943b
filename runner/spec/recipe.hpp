// A recipe after reading and checking: typed, complete, defaults filled in. Torch-free; knows neither plugins' code nor
// the engine. The owner of toml++ is this folder: no toml++ type in any header.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "holdfast/component.hpp"
#include "holdfast/options.hpp"
#include "spec/diagnostic.hpp"

namespace holdfast::spec {

/// Gives the option tables of plugins; implemented by the host, and by fakes in tests.
class Catalog {
 public:
  virtual ~Catalog() = default;
  /// Why a component cannot be had: a sentence (plugin not found, wrong ABI, ...) and what to do; either may be empty.
  struct Refusal {
    std::string why, hint;
  };
  /// Null when there is no such component; `refusal` then says so. May load the plugin.
  virtual const OptionTable* options(Kind kind, std::string_view plugin, Refusal& refusal) = 0;
  /// Names that options() may know, for suggestions. Loads nothing, so names of other kinds may be among them.
  virtual std::vector<std::string> names(Kind kind) = 0;
};

/// One plugin table: [model], [dataset.train], [strategy.NAME], [hook.NAME].
struct PluginTable {
  Kind kind{};
  std::string table;   ///< "model", "dataset.train", "hook.periodic_checkpoint"
  std::string plugin;  ///< component name
  bool enabled = true;
  Options options;  ///< checked against the plugin's table; empty when no catalog was given
};

struct Recipe {
  std::string path;    ///< as the user wrote it
  std::string folder;  ///< absolute folder of the recipe: relative paths in it start here
  Options run, loader, train, optimizer, schedule, memory, checkpoint, supervise, metrics, log, plugins;
  Options dataset_train, dataset_eval;  ///< the runner's own keys of these tables: shuffle, drop_last
  std::string model_init;               ///< [model] init, absolute, or empty
  std::optional<PluginTable> model, train_data, eval_data;
  /// In canonical order (by name), the safe set included unless disabled. "The order of tables means nothing."
  std::vector<PluginTable> strategies, hooks;
  /// Every key in effect and its TOML text, in the order of effective_toml: "optimizer.lr", "0.001". What differs
  /// between two readings is what a user changed. ${NAME} is kept, never its value; URLs lack userinfo and query;
  /// tables that are switched off are left out.
  std::vector<std::pair<std::string, std::string>> choices;
  std::string effective_toml;  ///< recipe.toml of the run: every default written out, data paths absolute, ${NAME} kept
};

struct Override {
  std::string key, value;  ///< --set a.b=v
};

struct ReadOptions {
  std::vector<Override> overrides;
  std::string working_folder;  ///< relative paths of overrides start here
  Catalog* catalog = nullptr;  ///< null: plugin options are not checked (validate --no-plugins)
  /// Value of an environment variable, for ${NAME}. Empty function: every variable counts as unset.
  std::function<std::optional<std::string>(std::string_view)> environment = {};
};

/// Reads and checks a recipe. Throws Faults with every fault of the file: exit 78, 66 when the file cannot be read, 80
/// when nothing but plugins is at fault. A disabled strategy or hook is checked but not listed in the Recipe; its
/// plugin must be known by name, and its options are checked where it can be loaded. Always set in the Options: every
/// key with a default; run.name, run.output, train.eval_batch_size, optimizer.weight_decay too. Not set unless given:
/// run.threads, run.keep_runs, train.epochs or train.updates, train.clip_grad_norm, train.early_stop,
/// checkpoint.keep_every, metrics.listen (one that parses).
Recipe read_recipe(const std::string& path, const ReadOptions& options);

/// `[plugins] search` of a recipe, absolute, read before the plugin host exists. Same faults as read_recipe for a file
/// that cannot be read or parsed; a faulty table gives an empty list here and is reported by read_recipe.
std::vector<std::string> plugin_search(const std::string& path, const ReadOptions& options);

/// JSON Schema (draft-07) of the recipe, with plugin tables by plugin name where a catalog is given.
std::string json_schema(Catalog* catalog);
/// The same for people, as Markdown: every table of the runner, then every plugin's options where a catalog is given.
std::string recipe_reference(Catalog* catalog);

}  // namespace holdfast::spec
