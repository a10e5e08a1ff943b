// A recipe from file to Recipe: read, parse, override, check each table, check them together, write it out again.
#include <algorithm>
#include <filesystem>

#include "base/text.hpp"
#include "spec/draft.hpp"
#include "spec/parse.hpp"

namespace holdfast::spec {
namespace {

std::string absolute_folder(const std::string& path, const std::string& working) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return absolute_path(working, folder.empty() ? "." : folder);
}

/// An override that gives a whole table, `--set train.early_stop={...}`, becomes one. False: it is no table.
bool make_table(Value& value) {
  if (value.type == Value::Type::kRaw) {
    std::optional<Value> parsed = parse_value(value.text);
    if (!parsed || parsed->type != Value::Type::kTable) return false;
    for (Entry& entry : parsed->entries) entry.place = entry.value.place = value.place;
    parsed->place = value.place;
    value = std::move(*parsed);
  }
  return value.type == Value::Type::kTable;
}

bool is_name(std::string_view name) { return !name.empty() && name.size() <= 64 && quote_key(name) == name; }

/// The host's rule: such a name cannot leave its folder.
bool is_plugin_name(std::string_view name) {
  return !name.empty() && name.size() <= 63 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

class Reader {
 public:
  Reader(const std::string& path, const ReadOptions& options)
      : options_(options),
        working_(options.working_folder.empty() ? std::filesystem::current_path().string() : options.working_folder),
        source_(read_source(path)),
        report_(source_),
        root_(parse_document(source_)),
        checker_(report_, {absolute_folder(path, working_), working_}, options.environment) {
    apply_overrides(root_, options.overrides, report_);
  }

  Recipe read() {
    top_level();
    for (const RunnerTable& table : runner_tables()) draft_.runner[std::string(table.name)] = runner_table(table);
    single(plugin_place("model"), root_.find("model"));
    datasets();
    many(plugin_place("strategy"));
    many(plugin_place("hook"));
    apply_rules(draft_, checker_, source_.path, report_);
    report_.raise_if_any();
    return finish();
  }

  std::vector<std::string> search() {
    for (const RunnerTable& table : runner_tables()) {
      if (table.name != "plugins") continue;
      const Checked checked = runner_table(table);
      if (report_.empty() && checked.options.has("search")) return checked.options.strings("search");
    }
    return {};
  }

 private:
  void top_level() {
    std::vector<std::string> names = {"model", "dataset", "strategy", "hook"};
    for (const RunnerTable& table : runner_tables()) names.emplace_back(table.name);
    for (const Entry& entry : root_.entries) {
      if (report_.full()) return;
      if (std::find(names.begin(), names.end(), entry.key) != names.end()) continue;
      const bool is_table = entry.value.type == Value::Type::kTable;
      const std::string near = is_table ? base::nearest_name(entry.key, names).value_or("") : "";
      const std::string_view home = table_with_key(entry.key);
      std::string hint;
      if (!is_table && !home.empty()) hint = "'" + entry.key + "' belongs in [" + std::string(home) + "]";
      if (is_table && near.empty())
        for (const std::string& name : names) hint += (hint.empty() ? "the tables are " : ", ") + name;
      report_.add(entry.place, is_table ? "recipe.unknown_table" : "recipe.unknown_key",
                  is_table ? "no such table: got '" + base::shortened(entry.key) + "'" +
                                 (near.empty() ? "" : "; did you mean '" + near + "'?")
                           : "the key '" + base::shortened(entry.key) + "' stands outside of every table",
                  hint);
    }
  }

  /// The table, or an empty one with a fault when something else stands there.
  Value table_or_fault(Value* value, const std::string& where) {
    if (!value) return {};
    if (make_table(*value)) return *value;
    const bool many = value->type == Value::Type::kArray;
    report_.add(value->place, "recipe.wrong_type", "[" + where + "] must be one table: got " + describe_value(*value),
                many ? "write [" + where + "], with single brackets" : "");
    return {};
  }

  Checked runner_table(const RunnerTable& table) {
    const std::string name(table.name);
    Value* value = root_.find(name);
    return checker_.table(*table.keys, table_or_fault(value, name), name);
  }

  void datasets() {
    Value* dataset = root_.find("dataset");
    Value table = table_or_fault(dataset, "dataset");
    for (const Entry& entry : table.entries) {
      if (entry.key == "train" || entry.key == "eval") continue;
      if (report_.full()) return;
      const std::string near = base::nearest_name(entry.key, std::vector<std::string>{"train", "eval"}).value_or("");
      report_.add(entry.place, "recipe.unknown_key",
                  "[dataset] holds the tables 'train' and 'eval' only: got '" + base::shortened(entry.key) + "'" +
                      (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
    single(plugin_place("dataset.train"), table.find("train"));
    single(plugin_place("dataset.eval"), table.find("eval"));
  }

  void single(const PluginPlace& place, Value* value) {
    const std::string name(place.name);
    if (value) return plugin(place, name, "", *value);
    if (place.is_required)
      report_.add({}, "recipe.missing_table", "the table [" + name + "] is missing",
                  "a recipe needs at least [model], [dataset.train] and [train]");
  }

  void many(const PluginPlace& place) {
    const std::string kind(place.name);
    Value tables = table_or_fault(root_.find(kind), kind);
    for (const SafeMember& member : safe_set())
      if (member.place == kind && !tables.find(member.plugin)) tables.entries.push_back({std::string(member.plugin)});
    std::sort(tables.entries.begin(), tables.entries.end(),
              [](const Entry& a, const Entry& b) { return a.key < b.key; });
    for (Entry& entry : tables.entries) {
      if (report_.full()) return;
      if (is_name(entry.key)) {
        plugin(place, kind + "." + entry.key, entry.key, entry.value);
      } else {
        report_.add(entry.place, "recipe.bad_name",
                    "the name of a " + kind + " is made of letters, digits, '_' and '-': got '" +
                        base::shortened(entry.key) + "'");
      }
    }
  }

  /// `name` is the default of `plugin`; empty when it must be given.
  void plugin(const PluginPlace& place, const std::string& where, const std::string& name, Value& value) {
    if (!make_table(value)) {
      table_or_fault(&value, where);
      return;
    }
    DraftPlugin draft;
    draft.place = &place;
    draft.table = where;
    draft.own = checker_.table(*place.keys, value, where, nullptr, Checker::Unknown::kSkip);
    if (!name.empty() && !draft.own.given.contains("plugin"))
      Checker::set_default(draft.own, *place.keys->find("plugin"), name);
    if (draft.own.options.has("enabled")) draft.enabled = draft.own.options.boolean("enabled");
    if (draft.own.options.has("plugin")) draft.plugin = draft.own.options.string("plugin");
    draft.declared = draft.own.options.has("plugin") ? declared(draft) : nullptr;
    if (draft.declared) {
      draft.options = checker_.table(*draft.declared, value, where, place.keys);
    } else {
      for (const Entry& entry : value.entries)
        if (!place.keys->find(entry.key)) draft.unchecked.push_back(guessed(entry));
    }
    draft_.plugins.push_back(std::move(draft));
  }

  /// The override of an option whose type is not known: TOML when it is, a string otherwise.
  static Entry guessed(Entry entry) {
    if (entry.value.type == Value::Type::kRaw)
      if (std::optional<Value> parsed = parse_value(entry.value.text)) entry.value = std::move(*parsed);
    return entry;
  }

  const OptionTable* declared(const DraftPlugin& draft) {
    const auto given = draft.own.given.find("plugin");
    const Place at = given != draft.own.given.end() ? given->second : draft.own.place;
    // A reference would let a variable's content into messages and choose the code that runs.
    const std::string& written = draft.own.toml.at("plugin");
    if (!is_plugin_name(draft.plugin) || written != quote(draft.plugin)) {
      report_.add(at, "recipe.bad_name",
                  "the name of a plugin has 1 to 63 characters of a-z, 0-9 and '_': got " + base::shortened(written));
      return nullptr;
    }
    if (!options_.catalog) return nullptr;
    Catalog::Refusal refusal;
    const OptionTable* table = options_.catalog->options(draft.place->kind, draft.plugin, refusal);
    // What is switched off need not load, but a mistyped name would switch nothing off.
    if (!table && (draft.enabled || !is_known(draft))) unavailable(draft, at, std::move(refusal));
    if (table)
      for (const auto& spec : table->specs())
        if (draft.place->keys->find(spec->name))
          report_.add(at, "plugin.reserved_option",
                      "the plugin '" + draft.plugin + "' declares the option '" + spec->name +
                          "', which belongs to the runner");
    return table;
  }

  [[nodiscard]] bool is_known(const DraftPlugin& draft) const {
    const std::vector<std::string> names = options_.catalog->names(draft.place->kind);
    const auto is_this = [&](const SafeMember& member) {
      return member.place == draft.place->name && member.plugin == draft.plugin;
    };
    return std::find(names.begin(), names.end(), draft.plugin) != names.end() ||
           std::any_of(safe_set().begin(), safe_set().end(), is_this);
  }

  void unavailable(const DraftPlugin& draft, const Place& at, Catalog::Refusal refusal) {
    const std::string kind(kind_name(draft.place->kind));
    if (refusal.why.empty()) refusal.why = "there is no " + kind + " plugin '" + draft.plugin + "'";
    if (refusal.hint.empty()) {
      const std::vector<std::string> names = options_.catalog->names(draft.place->kind);
      const std::string near = base::nearest_name(draft.plugin, names).value_or("");
      refusal.hint = near.empty() ? "holdfast plugins lists what there is" : "did you mean '" + near + "'?";
    }
    report_.add(at, "plugin.unavailable", "[" + draft.table + "] " + refusal.why, refusal.hint);
  }

  Recipe finish() {
    Recipe recipe;
    recipe.path = source_.path;
    recipe.folder = absolute_folder(source_.path, working_);
    recipe.effective_toml = effective_toml(draft_);
    recipe.choices = choices_of(draft_);
    const std::pair<std::string_view, Options*> places[] = {{"run", &recipe.run},
                                                            {"loader", &recipe.loader},
                                                            {"train", &recipe.train},
                                                            {"optimizer", &recipe.optimizer},
                                                            {"schedule", &recipe.schedule},
                                                            {"memory", &recipe.memory},
                                                            {"checkpoint", &recipe.checkpoint},
                                                            {"supervise", &recipe.supervise},
                                                            {"metrics", &recipe.metrics},
                                                            {"log", &recipe.log},
                                                            {"plugins", &recipe.plugins}};
    for (const auto& [name, options] : places) *options = std::move(draft_.table(name).options);
    for (DraftPlugin& plugin : draft_.plugins) place(recipe, plugin);
    return recipe;
  }

  static void place(Recipe& recipe, DraftPlugin& plugin) {
    PluginTable table{plugin.place->kind, plugin.table, plugin.plugin, plugin.enabled,
                      std::move(plugin.options.options)};
    Options& own = plugin.own.options;
    if (plugin.place->name == "model") {
      if (own.has("init")) recipe.model_init = own.path("init");
      recipe.model = std::move(table);
    } else if (plugin.place->name == "dataset.train") {
      recipe.dataset_train = std::move(own);
      recipe.train_data = std::move(table);
    } else if (plugin.place->name == "dataset.eval") {
      recipe.dataset_eval = std::move(own);
      recipe.eval_data = std::move(table);
    } else if (table.enabled) {
      (table.kind == Kind::kStrategy ? recipe.strategies : recipe.hooks).push_back(std::move(table));
    }
  }

  const ReadOptions& options_;
  std::string working_;
  Source source_;
  Report report_;
  Value root_;
  Checker checker_;
  Draft draft_;
};

}  // namespace

const DraftPlugin* Draft::plugin(std::string_view table) const {
  for (const DraftPlugin& candidate : plugins)
    if (candidate.table == table) return &candidate;
  return nullptr;
}

Recipe read_recipe(const std::string& path, const ReadOptions& options) { return Reader(path, options).read(); }

std::vector<std::string> plugin_search(const std::string& path, const ReadOptions& options) {
  return Reader(path, options).search();
}

}  // namespace holdfast::spec
