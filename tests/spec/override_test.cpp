// `--set a.b=v`: typed by the schema, told by its own place.
#include <doctest/doctest.h>

#include "spec/fake_catalog.hpp"

using namespace holdfast;
using namespace holdfast::spec;
using namespace holdfast::spec::testing;

namespace {

Recipe with(std::vector<Override> overrides, const std::string& text = kHead) {
  Trial trial;
  trial.overrides = std::move(overrides);
  return read(text, trial);
}

std::string fault_with(std::vector<Override> overrides, const std::string& text = kHead) {
  Trial trial;
  trial.overrides = std::move(overrides);
  return faults(text, trial);
}

}  // namespace

TEST_CASE("an override is read by the type of its option, with and without quotes") {
  const Recipe recipe = with({{"strategy.amp.dtype", "fp16"},
                              {"optimizer.lr", "1e-2"},
                              {"optimizer.betas", "[0.8, 0.9]"},
                              {"train.batch_size", "32"},
                              {"run.name", "\"quoted name\""},
                              {"run.deterministic", "false"},
                              {"run.grace", "40 s"},
                              {"train.eval_every", "100 updates"},
                              {"dataset.train.images", "['a', 'b']"},
                              {"model.hidden", "[8, 9]"},
                              {"model.activation", "gelu"},
                              {"hook.mine.plugin", "skip_corrupt"},
                              {"train.early_stop", "{metric = \"loss\", mode = \"min\", patience = 3}"},
                              {"dataset.eval", "{plugin = \"mix\", cache = \"1KiB\"}"}});
  CHECK(recipe.strategies.at(0).options.string("dtype") == "fp16");
  CHECK(recipe.optimizer.number("lr") == 1e-2);
  CHECK(recipe.optimizer.numbers("betas") == std::vector<double>{0.8, 0.9});
  CHECK(recipe.train.integer("batch_size") == 32);
  CHECK(recipe.run.string("name") == "quoted name");
  CHECK_FALSE(recipe.run.boolean("deterministic"));
  CHECK(recipe.run.duration("grace") == std::chrono::seconds(40));
  CHECK(recipe.train.interval("eval_every").count == 100);
  CHECK(recipe.train_data->options.strings("images") == std::vector<std::string>{"/work/a", "/work/b"});
  CHECK(recipe.model->options.integers("hidden") == std::vector<std::int64_t>{8, 9});
  CHECK(recipe.model->options.string("activation") == "gelu");
  CHECK(recipe.hooks.at(1).table == "hook.mine");
  CHECK(recipe.hooks.at(1).plugin == "skip_corrupt");
  CHECK(recipe.train.table("early_stop").integer("patience") == 3);
  CHECK(recipe.eval_data->options.size("cache") == Bytes{1024});
}

TEST_CASE("a name that looks like a number or a truth value stays a name") {
  CHECK(with({{"run.name", "1e3"}}).run.string("name") == "1e3");
  CHECK(with({{"run.name", "true"}}).run.string("name") == "true");
  CHECK(with({{"run.name", "a = b # c"}}).run.string("name") == "a = b # c");
}

TEST_CASE("the last of several overrides of a key wins") {
  CHECK(with({{"run.seed", "1"}, {"run.seed", "2"}}).run.integer("seed") == 2);
}

TEST_CASE("a length on the command line replaces the length of the file, but two of them conflict") {
  const Recipe recipe = with({{"train.updates", "20"}});
  CHECK(recipe.train.integer("updates") == 20);
  CHECK_FALSE(recipe.train.has("epochs"));
  CHECK(fault_with({{"train.updates", "20"}, {"train.epochs", "2"}}) ==
        "--set train.updates=20: error[recipe.conflict]: [train] takes one of 'epochs' and 'updates': got both\n"
        "  hint: remove one of the two");
}

TEST_CASE("a faulty override is told with the override as its place, after the faults of the file") {
  CHECK(fault_with({{"optimizer.lr", "fast"}}) ==
        "--set optimizer.lr=fast: error[recipe.wrong_type]: 'optimizer.lr' must be a number: got the string \"fast\"");
  CHECK(fault_with({{"train.batch_size", "1e3"}}) ==
        "--set train.batch_size=1e3: error[recipe.wrong_type]: 'train.batch_size' must be an integer: got 1e3\n"
        "  hint: write 1000");
  CHECK(fault_with({{"train.batch_size", "0"}}) ==
        "--set train.batch_size=0: error[recipe.out_of_range]: 'train.batch_size' must be between 1 and 1000000000: "
        "got 0");
  CHECK(fault_with({{"optimiser.lr", "1"}}) ==
        "--set optimiser.lr=1: error[recipe.unknown_table]: no such table: got 'optimiser'; did you mean 'optimizer'?");
  CHECK(fault_with({{"train.batchsize", "1"}}) ==
        "--set train.batchsize=1: error[recipe.unknown_key]: no such key in [train]: got 'batchsize'; did you mean "
        "'batch_size'?");
  CHECK(fault_with({{"strategy.amp.dtype", "fp17"}}) ==
        "--set strategy.amp.dtype=fp17: error[recipe.not_a_choice]: 'strategy.amp.dtype' must be one of \"bf16\", "
        "\"fp16\": got the string \"fp17\"; did you mean \"fp16\"?");
  CHECK(fault_with({{"model.hidden", "64"}}) ==
        "--set model.hidden=64: error[recipe.wrong_type]: 'model.hidden' must be a list of integers: got 64\n"
        "  hint: write [...] around it");
  CHECK(fault_with({{"run.grace", "5"}}) ==
        "--set run.grace=5: error[recipe.bad_quantity]: 'run.grace' must be a duration: the string \"5\" has no unit\n"
        "  hint: write for example \"90 s\", \"10 min\" or \"24 h\" (units: ms, s, min, h, d)");
  const std::string both = fault_with({{"optimizer.lr", "fast"}}, kHead + "[loader]\nthreads = 0\n");
  CHECK(both.find("r.toml:13:11: error[recipe.out_of_range]") == 0);
  CHECK(both.find("\n--set optimizer.lr=fast: error") != std::string::npos);
}

TEST_CASE("an override that names no key of a table is refused") {
  const std::string hint = "\n  hint: write for example --set optimizer.lr=1e-3";
  CHECK(fault_with({{"", "1"}}) ==
        "--set =1: error[recipe.bad_override]: an override names table and key: got ''" + hint);
  CHECK(fault_with({{"a..b", "1"}}) ==
        "--set a..b=1: error[recipe.bad_override]: an override names table and key: got 'a..b'" + hint);
  CHECK(fault_with({{"seed", "1"}}) ==
        "--set seed=1: error[recipe.unknown_key]: the key 'seed' stands outside of every table\n"
        "  hint: 'seed' belongs in [run]");
  CHECK(fault_with({{"run.seed.x", "1"}}, kHead + "[run]\nseed = 3\n") ==
        "--set run.seed.x=1: error[recipe.bad_override]: 'run.seed' is no table, so it has no key 'x'");
  CHECK(fault_with({{"model", "mlp"}}) ==
        "--set model=mlp: error[recipe.wrong_type]: [model] must be one table: got 'mlp'");
  CHECK(fault_with({{"run.name", "a\nb"}}).find("--set run.name=a\\nb: error[recipe.bad_name]") == 0);
  std::string deep = "a";
  for (int i = 0; i < 1000; ++i) deep += ".a";
  CHECK(fault_with({{deep, "1"}}).find("error[recipe.bad_override]") != std::string::npos);
}

TEST_CASE("without a catalog the override of a plugin's option is kept as it is") {
  Trial trial;
  trial.catalog = false;
  trial.overrides = {{"model.hidden", "[1, 2]"}, {"model.activation", "gelu"}, {"model.dropout", "0.5"}};
  const std::string toml = read(kHead, trial).effective_toml;
  CHECK(toml.find("hidden = [1, 2]\n") != std::string::npos);
  CHECK(toml.find("activation = \"gelu\"\n") != std::string::npos);
  CHECK(toml.find("dropout = 0.5\n") != std::string::npos);
}
