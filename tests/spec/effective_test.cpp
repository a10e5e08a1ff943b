// The effective recipe: reads back to the same recipe, and is the same text again.
#include <doctest/doctest.h>

#include "spec/fake_catalog.hpp"

using namespace holdfast;
using namespace holdfast::spec;
using namespace holdfast::spec::testing;

namespace {

bool same(const Options& a, const Options& b);

bool same(const OptionValue& a, const OptionValue& b) {
  using Nested = std::shared_ptr<const Options>;
  const auto* first = std::get_if<Nested>(&a);
  const auto* second = std::get_if<Nested>(&b);
  return first && second ? same(**first, **second) : a == b;
}

bool same(const Options& a, const Options& b) {
  if (a.values().size() != b.values().size()) return false;
  for (const auto& [key, value] : a.values())
    if (!b.has(key) || !same(value, b.values().find(key)->second)) return false;
  return true;
}

bool same(const PluginTable& a, const PluginTable& b) {
  return a.kind == b.kind && a.table == b.table && a.plugin == b.plugin && a.enabled == b.enabled &&
         same(a.options, b.options);
}

void check_same(const Recipe& a, const Recipe& b) {
  for (Options Recipe::*table : {&Recipe::run, &Recipe::loader, &Recipe::train, &Recipe::optimizer, &Recipe::schedule,
                                 &Recipe::memory, &Recipe::checkpoint, &Recipe::supervise, &Recipe::metrics,
                                 &Recipe::log, &Recipe::plugins, &Recipe::dataset_train, &Recipe::dataset_eval})
    CHECK(same(a.*table, b.*table));
  CHECK(a.model_init == b.model_init);
  CHECK(same(*a.model, *b.model));
  CHECK(same(*a.train_data, *b.train_data));
  REQUIRE(a.eval_data.has_value() == b.eval_data.has_value());
  if (a.eval_data) CHECK(same(*a.eval_data, *b.eval_data));
  REQUIRE(a.strategies.size() == b.strategies.size());
  for (std::size_t i = 0; i < a.strategies.size(); ++i) CHECK(same(a.strategies[i], b.strategies[i]));
  REQUIRE(a.hooks.size() == b.hooks.size());
  for (std::size_t i = 0; i < a.hooks.size(); ++i) CHECK(same(a.hooks[i], b.hooks[i]));
  CHECK(a.effective_toml == b.effective_toml);
}

/// Pieces that are right alone and together; a bit of `mask` takes each.
std::string composed(unsigned mask) {
  const std::vector<std::string> pieces = {
      "[run]\nname = \"q \\\"uote\\\" \\\\ $${X} \xC3\xA9\"\nseed = 9223372036854775807\nthreads = 2\ngrace = \"90 "
      "sec\"\n",
      "[dataset.eval]\nplugin = \"mix\"\ncache = \"1.5 KiB\"\nshuffle = true\n",
      "[strategy.amp]\nscaler = { growth = 7 }\n",
      "[strategy.b]\nplugin = \"accumulate\"\nmicro_batch_size = 4\nenabled = false\n",
      "[hook.periodic_checkpoint]\nenabled = false\n",
      "[hook.x]\nplugin = \"periodic_checkpoint\"\nevery = \"3 epochs\"\n",
      "[optimizer]\nname = \"sgd\"\nmomentum = 0.9\nnesterov = true\nlr = 3\nno_decay = \"none\"\n",
      "[schedule]\nname = \"cosine\"\nmin_lr = 1e-300\nwarmup_updates = 3\n",
      "[checkpoint]\nkeep = 1\nkeep_every = \"1 update\"\nbest = \"eval.accuracy:max\"\non_error = \"stop\"\n",
      "[log]\nlevel = \"debug\"\nfile = false\nevery = \"1500 ms\"\n[plugins]\nsearch = [\"a\", \"${V}/b\", "
      "\"c${V}\"]\n",
      "[hook.gone]\nenabled = false\ntext = '''multi\nline \x7F'''\nlist = [1, [2.50, \"x\"], { a.b = 1979-05-27 }]\n"};
  std::string text = kHead;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (mask & (1U << i)) text += pieces[i];
  return text;
}

}  // namespace

TEST_CASE("the effective recipe reads back to the same recipe, for 256 compositions") {
  const auto environment = [](std::string_view name) -> std::optional<std::string> {
    return name == "V" ? std::optional<std::string>("/v") : std::nullopt;
  };
  for (unsigned i = 0; i < 256; ++i) {
    const unsigned mask = i * 2654435761U >> 21;
    // U+007F is a control character that TOML forbids in raw strings.
    std::string text = composed(mask);
    if (const std::size_t at = text.find('\x7F'); at != std::string::npos) text.erase(at, 1);
    const Folder folder, elsewhere;
    FakeCatalog catalog;
    ReadOptions options;
    options.catalog = &catalog;
    options.environment = environment;
    const Recipe first = read_recipe(folder.write("r.toml", text), options);
    options.working_folder = "/";
    const Recipe second = read_recipe(elsewhere.write("recipe.toml", first.effective_toml), options);
    check_same(first, second);
    // Without plugins it reads back, too.
    options.catalog = nullptr;
    const Recipe third = read_recipe(folder.write("r.toml", text), options);
    CHECK(read_recipe(elsewhere.write("recipe.toml", third.effective_toml), options).effective_toml ==
          third.effective_toml);
  }
}

TEST_CASE("the effective recipe is this text") {
  const Recipe recipe = read(kHead + "[dataset.eval]\nplugin = \"mix\"\n[strategy.amp]\n");
  std::string text = recipe.effective_toml;
  for (std::size_t at; (at = text.find(recipe.folder)) != std::string::npos;)
    text.replace(at, recipe.folder.size(), "F");
  CHECK(text ==
        "# The effective recipe: every default written out, paths absolute. ${NAME} is left as it was.\n\n"
        "[run]\nname = \"r\"\nseed = 0\ndevice = \"auto\"\ndeterministic = true\n"
        "anomaly_mode = false\ncudnn_benchmark = false\ntf32 = false\noutput = \"F/runs/r\"\n"
        "when_done = \"exit\"\ngrace = \"25 s\"\n\n"
        "[model]\nplugin = \"mlp\"\nhidden = [64]\ndropout = 0.0\nactivation = \"relu\"\n\n"
        "[dataset.train]\nplugin = \"idx\"\nshuffle = true\ndrop_last = false\nimages = [\"F/data/train-images.gz\"]\n"
        "labels = \"F/data/train-labels.gz\"\nscale = 1.0\n\n"
        "[dataset.eval]\nplugin = \"mix\"\nshuffle = false\ndrop_last = false\n\n"
        "[strategy.amp]\nplugin = \"amp\"\nenabled = true\ndtype = \"bf16\"\n\n"
        "[hook.memory_guard]\nplugin = \"memory_guard\"\nenabled = true\nat = 0.9\n\n"
        "[hook.oom_checkpoint]\nplugin = \"oom_checkpoint\"\nenabled = true\n\n"
        "[hook.periodic_checkpoint]\nplugin = \"periodic_checkpoint\"\nenabled = true\nevery = \"10 min\"\n\n"
        "[loader]\nthreads = 1\nprefetch = 4\n\n"
        "[train]\nepochs = 3\nbatch_size = 64\neval_every = \"1 epoch\"\neval_batch_size = 64\n\n"
        "[optimizer]\nname = \"adamw\"\nlr = 0.001\nweight_decay = 0.01\nbetas = [0.9, 0.999]\neps = 1e-08\n"
        "no_decay = \"1d\"\n\n"
        "[schedule]\nname = \"constant\"\nwarmup_updates = 0\n\n"
        "[memory]\non_oom = [\"retry\", \"halve_micro_batch\", \"recompute\", \"offload_activations\", "
        "\"offload_optimizer\", \"save\"]\n"
        "expandable_segments = false\nsample_every = 8\n\n"
        "[checkpoint]\nkeep = 3\nbest = \"eval.loss:min\"\nasync = true\non_error = \"continue\"\n\n"
        "[supervise]\nmax_restarts = 5\nbackoff = \"10 s\"\nhang_timeout = \"10 min\"\n\n"
        "[log]\nlevel = \"info\"\nfile = true\nevery = \"1 s\"\n\n"
        "[plugins]\nsearch = []\n");
}

TEST_CASE("the choices are the keys in effect, without the value of a reference and without credentials of a URL") {
  const Folder folder;
  FakeCatalog catalog;
  catalog.add(Kind::kHook, "post").strings("to").doc("URLs.");
  ReadOptions options;
  options.catalog = &catalog;
  options.environment = [](std::string_view) { return std::optional<std::string>("s3cret"); };
  const std::string text = kHead +
                           "[hook.post]\nto = [\"https://me:pw@a.org/x?key=1\", \"http://b.org/@c\", \"${V}\"]\n"
                           "[strategy.amp]\nscaler = { growth = 7 }\n[hook.skip_corrupt]\nenabled = false\n";
  const Recipe recipe = read_recipe(folder.write("r.toml", text), options);
  const auto text_of = [&](const std::string& key) -> std::string {
    for (const auto& [name, value] : recipe.choices)
      if (name == key) return value;
    return "none";
  };
  CHECK(text_of("hook.post.to") == R"(["https://a.org/x", "http://b.org/@c", "${V}"])");
  CHECK(text_of("strategy.amp.scaler") == "{ initial = 65536.0, growth = 7 }");
  CHECK(text_of("optimizer.lr") == "0.001");
  CHECK(text_of("hook.periodic_checkpoint.every") == "\"10 min\"");
  CHECK(text_of("hook.skip_corrupt.max_share") == "none");
  CHECK(text_of("train.clip_grad_norm") == "none");
  CHECK(recipe.effective_toml.find("me:pw") != std::string::npos);  // the recipe itself is the user's own text
}
