// Rules between keys. Each function looks at one table; a rule is silent about keys that are faulty already.
#include <algorithm>
#include <filesystem>
#include <set>

#include "base/listen_address.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "spec/draft.hpp"
#include "spec/parse.hpp"
#include "spec/units.hpp"

namespace holdfast::spec {
namespace {

const OptionSpec& spec_of(std::string_view table, std::string_view key) {
  for (const RunnerTable& runner : runner_tables())
    if (runner.name == table) return *runner.keys->find(key);
  throw std::logic_error("no runner table '" + std::string(table) + "'");
}

class Rules {
 public:
  Rules(Draft& draft, Checker& checker, const std::string& recipe_path, Report& report)
      : draft_(draft), checker_(checker), recipe_path_(recipe_path), report_(report) {}

  void apply() {
    run();
    train();
    optimizer();
    schedule();
    memory();
    checkpoint();
    metrics();
  }

 private:
  void fault(const Checked& table, const std::string& key, std::string reason, std::string message,
             std::string hint = {}) {
    const auto given = table.given.find(key);
    report_.add(given != table.given.end() ? given->second : table.place, std::move(reason), std::move(message),
                std::move(hint));
  }

  void run() {
    Checked& run = draft_.table("run");
    name(run);
    device(run);
    reproducible(run);
    if (run.given.contains("output") || !run.options.has("name")) return;
    Value output;
    output.type = Value::Type::kString;
    output.text = "runs/" + parse_value(run.toml.at("name"))->text;
    if (auto found = checker_.value(spec_of("run", "output"), output, "run.output")) {
      run.options.set("output", std::move(found->value));
      run.toml["output"] = std::move(found->toml);
    }
  }

  /// The name becomes a folder's name.
  void name(Checked& run) {
    if (!run.given.contains("name"))
      Checker::set_default(run, spec_of("run", "name"), std::filesystem::path(recipe_path_).stem().string());
    if (!run.options.has("name")) return;
    const std::string& name = run.options.string("name");
    const bool good = !name.empty() && name.size() <= 200 && name.front() != '.' && name.front() != ' ' &&
                      name.back() != ' ' && name.find('/') == std::string::npos &&
                      base::terminal_safe_line(name) == name;
    if (good) return;
    fault(run, "name", "recipe.bad_name",
          "'run.name' must be usable as a folder's name: got " + base::shortened(run.toml["name"]),
          "1 to 200 bytes without '/' and control characters, not beginning with '.' or a space");
    run.options = {};
  }

  void reproducible(Checked& run) {
    if (!run.options.has("cudnn_benchmark") || !run.options.has("deterministic")) return;
    if (run.options.boolean("cudnn_benchmark") && run.options.boolean("deterministic"))
      fault(run, "cudnn_benchmark", "recipe.conflict",
            "'run.cudnn_benchmark' takes algorithms by their time, so equal runs may differ: got "
            "run.deterministic = true",
            "set deterministic = false, or remove cudnn_benchmark");
  }

  void device(Checked& run) {
    if (!run.options.has("device")) return;
    const std::string& device = run.options.string("device");
    const bool plain = device == "auto" || device == "cpu" || device == "cuda";
    const bool numbered = device.size() > 5 && device.size() < 9 && device.substr(0, 5) == "cuda:" &&
                          device.find_first_not_of("0123456789", 5) == std::string::npos;
    if (plain || numbered) return;
    fault(run, "device", "recipe.not_a_choice",
          R"('run.device' must be "auto", "cpu", "cuda" or "cuda:N": got )" + base::shortened(run.toml["device"]));
  }

  void train() {
    Checked& train = draft_.table("train");
    const bool epochs = train.given.contains("epochs"), updates = train.given.contains("updates");
    if (epochs && updates)
      fault(train, "updates", "recipe.conflict", "[train] takes one of 'epochs' and 'updates': got both",
            "remove one of the two");
    if (!epochs && !updates)
      fault(train, "", "recipe.missing_key", "[train] needs one of 'epochs' and 'updates': got neither",
            "write for example epochs = 3");
    if (!train.given.contains("eval_batch_size") && train.options.has("batch_size"))
      Checker::set_default(train, spec_of("train", "eval_batch_size"), train.options.integer("batch_size"));
    early_stop(train);
  }

  void early_stop(Checked& train) {
    if (!train.options.has("early_stop")) return;
    if (!draft_.plugin("dataset.eval"))
      fault(train, "early_stop", "recipe.conflict",
            "'train.early_stop' needs an evaluation: there is no [dataset.eval]",
            "add [dataset.eval] or remove early_stop");
    Options stop = train.options.table("early_stop");
    if (!stop.has("metric")) return;
    const std::string metric = stop.string("metric");
    // Both spellings are in use: checkpoint.best says "eval.loss".
    if (metric.substr(0, 5) == "eval.") stop.set("metric", metric.substr(5));
    if (stop.string("metric").empty())
      fault(train, "early_stop", "recipe.bad_metric", "'train.early_stop.metric' names no metric: got " + quote(metric),
            R"(write for example metric = "loss")");
    train.options.set("early_stop", std::make_shared<const Options>(std::move(stop)));
  }

  /// A key that the chosen method does not read must not be given; its default is not written out.
  void only_for(Checked& table, const std::string& where, const std::string& key, const std::string& chosen,
                const std::string& readers) {
    if (table.given.contains(key))
      fault(table, key, "recipe.conflict",
            "'" + where + "." + key + "' is for " + readers + " only: got " + where + ".name = " + quote(chosen),
            "remove " + key + " or change the name");
    table.toml.erase(key);
  }

  void optimizer() {
    Checked& table = draft_.table("optimizer");
    if (!table.options.has("name")) return;
    const std::string name = table.options.string("name");
    for (const char* key : {"momentum", "nesterov"})
      if (name == "adamw") only_for(table, "optimizer", key, name, "sgd");
    for (const char* key : {"betas", "eps"})
      if (name == "sgd") only_for(table, "optimizer", key, name, "adamw");
    if (!table.given.contains("weight_decay"))
      Checker::set_default(table, spec_of("optimizer", "weight_decay"), name == "adamw" ? 0.01 : 0.0);
    if (table.options.has("betas") && table.options.numbers("betas").size() != 2)
      fault(table, "betas", "recipe.out_of_range",
            "'optimizer.betas' must have 2 items: got " + std::to_string(table.options.numbers("betas").size()),
            "write for example betas = [0.9, 0.999]");
    const bool momentum = !table.options.has("momentum") || table.options.number("momentum") > 0;
    if (name == "sgd" && !momentum && table.options.has("nesterov") && table.options.boolean("nesterov"))
      fault(table, "nesterov", "recipe.conflict", "'optimizer.nesterov' needs a momentum: got momentum = 0",
            "write for example momentum = 0.9");
  }

  void schedule() {
    Checked& table = draft_.table("schedule");
    const Options& train = draft_.table("train").options;
    if (table.options.has("name") && table.options.string("name") == "constant")
      only_for(table, "schedule", "min_lr", "constant", "linear and cosine");
    if (train.has("updates") && table.options.has("warmup_updates") &&
        table.options.integer("warmup_updates") > train.integer("updates"))
      fault(table, "warmup_updates", "recipe.conflict",
            "'schedule.warmup_updates' must not be longer than the run: got " +
                std::to_string(table.options.integer("warmup_updates")) +
                ", but train.updates = " + std::to_string(train.integer("updates")));
    const Options& optimizer = draft_.table("optimizer").options;
    if (optimizer.has("lr") && table.options.has("min_lr") && table.options.number("min_lr") > optimizer.number("lr"))
      fault(table, "min_lr", "recipe.conflict",
            "'schedule.min_lr' must not be above optimizer.lr: got " + format_number(table.options.number("min_lr")) +
                ", but optimizer.lr = " + format_number(optimizer.number("lr")));
  }

  void memory() {
    Checked& table = draft_.table("memory");
    if (!table.options.has("on_oom")) return;
    std::set<std::string> seen;
    // As written: an expanded reference is not shown.
    const std::optional<Value> written = parse_value(table.toml["on_oom"]);
    for (const Value& item : written->items) {
      rung(table, item.text);
      if (!seen.insert(item.text).second)
        fault(table, "on_oom", "recipe.conflict", "'memory.on_oom' names the rung " + quote(item.text) + " twice");
    }
  }

  void rung(const Checked& table, const std::string& word) {
    const std::vector<std::string> known(rungs().begin(), rungs().end());
    if (std::find(known.begin(), known.end(), word) != known.end()) return;
    std::string hint;
    for (const auto& each : known) hint += (hint.empty() ? "there are " : ", ") + quote(each);
    const std::string near = base::nearest_name(word, known).value_or("");
    fault(table, "on_oom", "recipe.not_a_choice",
          "'memory.on_oom' holds no such rung: got " + base::shortened(quote(word)) +
              (near.empty() ? "" : "; did you mean " + quote(near) + "?"),
          hint);
  }

  void checkpoint() {
    Checked& table = draft_.table("checkpoint");
    if (table.options.has("best"))
      if (const auto goal = parse_metric_goal(table.options.string("best")); !goal.value)
        fault(table, "best", "recipe.bad_metric",
              "'checkpoint.best' must be a metric and a direction: " + base::shortened(table.toml["best"]) + " " +
                  goal.problem,
              goal.hint);
    if (table.options.has("keep_every") && table.options.interval("keep_every").unit != Interval::Unit::kUpdates)
      fault(
          table, "keep_every", "recipe.not_built",
          "'checkpoint.keep_every' counts updates; epochs and times are not yet built: got " + table.toml["keep_every"],
          R"(write for example keep_every = "1000 updates")");
  }

  void metrics() {
    Checked& table = draft_.table("metrics");
    sinks(table);
    if (!table.options.has("listen")) return;
    const auto parsed = base::parse_listen_address(table.options.string("listen"));
    if (!parsed.address)
      fault(table, "listen", "recipe.bad_address",
            "'metrics.listen' must be an address and a port: " + base::shortened(table.toml["listen"]) + " " +
                parsed.problem,
            R"(write for example "127.0.0.1:9464", "[::1]:9464", or ":9464" for every address)");
  }

  void sinks(const Checked& table) {
    if (table.options.has("textfile") && !table.options.path("textfile").ends_with(".prom"))
      fault(table, "textfile", "recipe.bad_textfile",
            "'metrics.textfile' must end in .prom: got " + base::shortened(table.toml.at("textfile")),
            "node_exporter reads only files of that ending; write for example textfile = "
            "\"/var/lib/prometheus/node-exporter/holdfast_mnist.prom\"");
    if (table.options.has("password_file") && !table.options.has("push"))
      fault(table, "password_file", "recipe.useless",
            "'metrics.password_file' is for 'metrics.push', which is not given",
            "leave the key out, or give push the gateway's URL");
    if (!table.options.has("push")) return;
    const std::string problem = base::url_problem(table.options.string("push"));
    if (!problem.empty())
      fault(table, "push", "recipe.bad_url",
            "'metrics.push' must be the URL of a gateway: " + base::shortened(table.toml.at("push")) + " " + problem,
            problem == "has a user name" ? "write USER:PASSWORD into a file and name it in metrics.password_file"
                                         : R"(write for example "http://gateway:9091")");
  }

  Draft& draft_;
  Checker& checker_;
  const std::string& recipe_path_;
  Report& report_;
};

}  // namespace

void apply_rules(Draft& draft, Checker& checker, const std::string& recipe_path, Report& report) {
  Rules(draft, checker, recipe_path, report).apply();
}

}  // namespace holdfast::spec
