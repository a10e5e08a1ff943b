// Recipes as a whole: tables, defaults, plugins, the safe set.
#include <doctest/doctest.h>

#include "spec/fake_catalog.hpp"

using namespace holdfast;
using namespace holdfast::spec;
using namespace holdfast::spec::testing;

TEST_CASE("a short recipe is read and every default is filled in") {
  const Recipe recipe = read(kHead);
  CHECK(recipe.run.string("name") == "r");
  CHECK(recipe.run.integer("seed") == 0);
  CHECK(recipe.run.string("device") == "auto");
  CHECK(recipe.run.boolean("deterministic"));
  CHECK(recipe.run.path("output") == recipe.folder + "/runs/r");
  CHECK(recipe.run.string("when_done") == "exit");
  CHECK(recipe.run.duration("grace") == std::chrono::seconds(25));
  CHECK_FALSE(recipe.run.has("threads"));
  CHECK(recipe.loader.integer("threads") == 1);
  CHECK(recipe.loader.integer("prefetch") == 4);
  CHECK(recipe.train.integer("epochs") == 3);
  CHECK_FALSE(recipe.train.has("updates"));
  CHECK(recipe.train.integer("eval_batch_size") == 64);
  CHECK(recipe.train.interval("eval_every") == Interval{Interval::Unit::kEpochs, 1, {}});
  CHECK(recipe.optimizer.string("name") == "adamw");
  CHECK(recipe.optimizer.number("lr") == 1e-3);
  CHECK(recipe.optimizer.number("weight_decay") == 0.01);
  CHECK(recipe.optimizer.numbers("betas") == std::vector<double>{0.9, 0.999});
  CHECK(recipe.schedule.string("name") == "constant");
  CHECK(recipe.memory.strings("on_oom") == std::vector<std::string>{"retry", "halve_micro_batch", "recompute",
                                                                    "offload_activations", "offload_optimizer",
                                                                    "save"});
  CHECK(recipe.checkpoint.integer("keep") == 3);
  CHECK(recipe.checkpoint.string("best") == "eval.loss:min");
  CHECK(recipe.checkpoint.boolean("async"));
  CHECK(recipe.log.boolean("file"));
  CHECK(recipe.plugins.strings("search").empty());
  CHECK(recipe.model->plugin == "mlp");
  CHECK(recipe.model->options.integers("hidden") == std::vector<std::int64_t>{64});
  CHECK(recipe.model->options.number("dropout") == 0.0);
  CHECK(recipe.train_data->options.strings("images") ==
        std::vector<std::string>{recipe.folder + "/data/train-images.gz"});
  CHECK(recipe.dataset_train.boolean("shuffle"));
  CHECK_FALSE(recipe.eval_data.has_value());
  REQUIRE(recipe.hooks.size() == 3);
  CHECK(recipe.hooks[1].table == "hook.oom_checkpoint");
  CHECK(recipe.hooks[2].table == "hook.periodic_checkpoint");
  CHECK(recipe.hooks[2].options.interval("every").time == std::chrono::minutes(10));
}

TEST_CASE("a recipe with everything in it is read, whatever the order of its tables") {
  const std::string tail =
      "[strategy.amp]\ndtype = \"fp16\"\n[strategy.accumulate]\nmicro_batch_size = 16\n"
      "[hook.periodic_checkpoint]\nevery = \"5 min\"\n[hook.skip_corrupt]\nmax_share = 0.5\n";
  const Recipe recipe = read(kHead + tail);
  const Recipe other = read(tail + kHead);
  REQUIRE(recipe.strategies.size() == 2);
  CHECK(recipe.strategies[0].table == "strategy.accumulate");
  CHECK(recipe.strategies[1].table == "strategy.amp");
  CHECK(recipe.strategies[1].options.string("dtype") == "fp16");
  REQUIRE(recipe.hooks.size() == 4);
  CHECK(recipe.hooks[2].options.interval("every").time == std::chrono::minutes(5));
  CHECK(recipe.hooks[3].options.number("max_share") == 0.5);
  const std::string mine = recipe.effective_toml, theirs = other.effective_toml;
  CHECK(mine.substr(mine.find("[strategy")) == theirs.substr(theirs.find("[strategy")));
}

TEST_CASE("a second instance names its plugin") {
  const Recipe recipe = read(kHead + "[hook.often]\nplugin = \"periodic_checkpoint\"\nevery = \"10 updates\"\n");
  REQUIRE(recipe.hooks.size() == 4);
  CHECK(recipe.hooks[1].table == "hook.often");
  CHECK(recipe.hooks[1].plugin == "periodic_checkpoint");
  CHECK(recipe.hooks[3].table == "hook.periodic_checkpoint");
}

TEST_CASE("enabled = false removes a strategy, a hook and a member of the safe set") {
  const Recipe recipe = read(kHead +
                             "[strategy.amp]\nenabled = false\n[hook.periodic_checkpoint]\nenabled = false\n"
                             "[hook.memory_guard]\nenabled = false\n[hook.oom_checkpoint]\nenabled = "
                             "false\n[hook.gone]\nenabled = false\nx = 1\n");
  CHECK(recipe.strategies.empty());
  CHECK(recipe.hooks.empty());
  CHECK(faults(kHead + "[strategy.amp]\nenabled = false\ndtyp = \"fp16\"\n").find("did you mean 'dtype'?") !=
        std::string::npos);
}

TEST_CASE("what is switched off must be known by name, or the switch does nothing") {
  CHECK(faults(kHead + "[hook.periodic_chekpoint]\nenabled = false\n", {}, 80) ==
        "r.toml:12:1: error[plugin.unavailable]: [hook.periodic_chekpoint] no plugin 'periodic_chekpoint' in "
        "/lib/plugins\n  [hook.periodic_chekpoint]\n  ^\n  hint: did you mean 'periodic_checkpoint'?");
  CHECK(faults(kHead + "[hook.refused]\nenabled = false\n") == "no fault");
  Trial blind;
  blind.catalog = false;
  CHECK(faults(kHead + "[hook.periodic_chekpoint]\nenabled = false\n", blind) == "no fault");
}

TEST_CASE("a plugin that was refused keeps the host's hint") {
  CHECK(faults(kHead + "[hook.refused]\n", {}, 80) ==
        "r.toml:12:1: error[plugin.unavailable]: [hook.refused] the plugin was built for LibTorch 1.0\n"
        "  [hook.refused]\n  ^\n  hint: rebuild it");
}

TEST_CASE("a plugin's name has 1 to 63 characters of a-z, 0-9 and _, with or without a catalog") {
  for (const bool catalog : {true, false})
    for (const std::string& bad :
         std::vector<std::string>{"", "ml p", "Mlp", "m-p", "../mlp", "m\\u0007", std::string(64, 'a')}) {
      std::string text = kHead;
      text.replace(text.find("\"mlp\""), 5, "\"" + bad + "\"");
      Trial trial;
      trial.catalog = catalog;
      CHECK(faults(text, trial)
                .starts_with("r.toml:2:10: error[recipe.bad_name]: the name of a plugin has 1 to 63 characters of a-z, "
                             "0-9 and '_': got \""));
    }
}

TEST_CASE("a plugin that is not there is exit 80, with the nearest name") {
  CHECK(faults(kHead + "[strategy.acumulate]\nmicro_batch_size = 1\n", {}, 80) ==
        "r.toml:12:1: error[plugin.unavailable]: [strategy.acumulate] no plugin 'acumulate' in /lib/plugins\n"
        "  [strategy.acumulate]\n  ^\n  hint: did you mean 'accumulate'?");
  std::string text = kHead;
  text.replace(text.find("\"mlp\""), 5, "\"transformer\"");
  CHECK(faults(text, {}, 80) ==
        "r.toml:2:10: error[plugin.unavailable]: [model] no plugin 'transformer' in /lib/plugins\n"
        "  plugin = \"transformer\"\n           ^\n  hint: holdfast plugins lists what there is");
  text.replace(text.find("\"transformer\""), 13, "\"../mlp\"");
  CHECK(faults(text) ==
        "r.toml:2:10: error[recipe.bad_name]: the name of a plugin has 1 to 63 characters of a-z, 0-9 and '_': got "
        "\"../mlp\"\n  plugin = \"../mlp\"\n           ^");
}

TEST_CASE("a plugin that declares a key of the runner is refused") {
  const Folder folder;
  FakeCatalog catalog;
  catalog.add(Kind::kHook, "greedy").boolean("enabled", true);
  ReadOptions options;
  options.catalog = &catalog;
  try {
    read_recipe(folder.write("r.toml", kHead + "[hook.greedy]\n"), options);
    FAIL("no fault");
  } catch (const Faults& error) {
    CHECK(error.code() == ExitCode::kPlugin);
    CHECK(error.message() == "the plugin 'greedy' declares the option 'enabled', which belongs to the runner");
  }
}

TEST_CASE("tables of the wrong kind are refused") {
  CHECK(faults("[[run]]\n" + kHead) ==
        "r.toml:1:1: error[recipe.wrong_type]: [run] must be one table: got a list\n  [[run]]\n  ^\n"
        "  hint: write [run], with single brackets");
  CHECK(faults("run = 3\n" + kHead) ==
        "r.toml:1:7: error[recipe.wrong_type]: [run] must be one table: got 3\n  run = 3\n        ^");
  CHECK(
      faults("strategy = { amp = true }\n" + kHead) ==
      "r.toml:1:20: error[recipe.wrong_type]: [strategy.amp] must be one table: got true\n  strategy = { amp = true }\n"
      "                     ^");
  CHECK(faults(kHead + "[dataset.test]\nplugin = \"idx\"\n") ==
        "r.toml:12:10: error[recipe.unknown_key]: [dataset] holds the tables 'train' and 'eval' only: got 'test'\n"
        "  [dataset.test]\n           ^");
  CHECK(faults(kHead + "[hook.\"a b\"]\n") ==
        "r.toml:12:7: error[recipe.bad_name]: the name of a hook is made of letters, digits, '_' and '-': got 'a b'\n"
        "  [hook.\"a b\"]\n        ^");
}

TEST_CASE("all faults of a file are told together, in its order") {
  const std::string told = faults(kHead + "[loader]\nthreads = 0\n[optimizer]\nlr = \"x\"\n[modle]\n[hook.nope]\n");
  std::vector<std::string> lines;
  for (const char* mark : {"r.toml:13:11: error[recipe.out_of_range]", "r.toml:15:6: error[recipe.wrong_type]",
                           "r.toml:16:2: error[recipe.unknown_table]", "r.toml:17:1: error[plugin.unavailable]"})
    CHECK_MESSAGE(told.find(mark) != std::string::npos, told);
  CHECK(told.find("out_of_range") < told.find("wrong_type"));
}

TEST_CASE("plugin_search reads its table alone") {
  const Folder folder;
  ReadOptions options;
  options.working_folder = "/work";
  const std::string path = folder.write("r.toml", "[plugins]\nsearch = [\"p\"]\n[run]\nseed = \"x\"\n");
  CHECK(plugin_search(path, options) == std::vector<std::string>{folder.path() + "/p"});
  options.overrides = {{"plugins.search", "[\"q\", \"/abs\"]"}};
  CHECK(plugin_search(path, options) == std::vector<std::string>{"/work/q", "/abs"});
  CHECK(plugin_search(folder.write("none.toml", kHead), {}).empty());
  CHECK(plugin_search(folder.write("bad.toml", "[plugins]\nsearch = 3\n"), {}).empty());
  CHECK_THROWS_AS(plugin_search(folder.write("syntax.toml", "[plugins\n"), {}), Faults);
}
