// Hostile recipes: thousands of seeded mutations of a good one never crash and always end as a Recipe or as Faults.
#include <doctest/doctest.h>

#include <random>

#include "spec/fake_catalog.hpp"

using namespace holdfast;
using namespace holdfast::spec;
using namespace holdfast::spec::testing;

namespace {

const std::string kSeedRecipe =
    kHead +
    "early_stop = { metric = \"loss\", mode = \"min\", patience = 3 }\n[run]\nname = \"a ${V} b\"\nseed = 1_0\ngrace = "
    "\"25 s\"\n"
    "[dataset.eval]\nplugin = 'mix'\ncache = \"1.5 KiB\"\n[strategy.amp]\nscaler.growth = 0x10\n"
    "[hook.x]\nplugin = \"periodic_checkpoint\"\nevery = \"3 epochs\"\n[optimizer]\nbetas = [0.9,\n 0.99] # end\n"
    "lr = 1e-3\n[memory]\non_oom = [\"save\"]\n[checkpoint]\nbest = \"eval.loss:min\"\n";

std::string mutate(std::string text, std::mt19937& random) {
  static const std::vector<std::string> pieces = {"\"",
                                                  "'",
                                                  "\"\"\"",
                                                  "'''",
                                                  "[",
                                                  "]",
                                                  "[[",
                                                  "{",
                                                  "}",
                                                  "=",
                                                  ".",
                                                  ",",
                                                  "\n",
                                                  "\r\n",
                                                  "#",
                                                  "${",
                                                  "}",
                                                  "\\",
                                                  "\\u0000",
                                                  "\xFF",
                                                  "\xE2\x82",
                                                  std::string(1, '\0'),
                                                  "1e999",
                                                  "-0",
                                                  "nan",
                                                  "inf",
                                                  "9223372036854775808",
                                                  "1979-05-27T07:32:00Z",
                                                  "0b2",
                                                  "true",
                                                  "\t",
                                                  " ",
                                                  "[hook.y]\n",
                                                  "plugin = \"mlp\"\n",
                                                  "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a = 1\n",
                                                  "\x1b[2J",
                                                  "epochs = 1\n"};
  const int changes = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < changes; ++i) {
    const std::size_t at = text.empty() ? 0 : random() % text.size();
    const std::size_t length = std::min<std::size_t>(text.size() - at, 1 + random() % 12);
    switch (random() % 5) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, pieces[random() % pieces.size()]);
        break;
      case 2:
        text.replace(at, length, pieces[random() % pieces.size()]);
        break;
      case 3:
        text.insert(at, text.substr(random() % (text.size() + 1), 1 + random() % 40));
        break;
      default:
        if (!text.empty()) text[at] = static_cast<char>(random() % 256);
    }
  }
  return text;
}

}  // namespace

TEST_CASE("4000 mutations of a good recipe end as a recipe or as faults, told without control characters") {
  const Folder folder;
  FakeCatalog catalog;
  ReadOptions options;
  options.catalog = &catalog;
  options.environment = [](std::string_view) { return std::optional<std::string>("v"); };
  REQUIRE_NOTHROW(read_recipe(folder.write("r.toml", kSeedRecipe), options));
  std::mt19937 random(20261130);
  int good = 0, faulty = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string text = mutate(kSeedRecipe, random);
    const std::string path = folder.write("r.toml", text);
    try {
      const Recipe recipe = read_recipe(path, options);
      ++good;
      // What is accepted is accepted again, as the same recipe.
      const std::string again = folder.write("again.toml", recipe.effective_toml);
      CHECK_MESSAGE(read_recipe(again, options).effective_toml == recipe.effective_toml, text);
    } catch (const Faults& error) {
      ++faulty;
      const std::string what = error.what();
      bool clean = !what.empty() && !error.faults().empty();
      for (const char c : what) clean = clean && (c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20);
      CHECK_MESSAGE(clean, text);
    }
  }
  CHECK(good > 50);
  CHECK(faulty > 500);
}

TEST_CASE("2000 random overrides end as a recipe or as faults") {
  const Folder folder;
  FakeCatalog catalog;
  ReadOptions options;
  options.catalog = &catalog;
  const std::string path = folder.write("r.toml", kHead);
  const std::vector<std::string> keys = {
      "run.name",     "run.grace",           "train.batch_size", "optimizer.betas", "model",
      "model.hidden", "hook.x.plugin",       "train.early_stop", "dataset",         "dataset.eval",
      "strategy",     "strategy.amp.scaler", "plugins.search",   "memory.on_oom",   "a.b.c"};
  std::mt19937 random(7);
  int faulty = 0;
  for (int i = 0; i < 2000; ++i) {
    options.overrides = {{keys[random() % keys.size()], mutate("[1, \"a\", {b = 2}]", random)},
                         {mutate(keys[random() % keys.size()], random), mutate("2 min", random)}};
    try {
      read_recipe(path, options);
    } catch (const Faults& error) {
      ++faulty;
      CHECK(!error.faults().empty());
    }
  }
  CHECK(faulty > 500);
}
