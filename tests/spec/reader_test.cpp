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
  CHECK(recipe.memory.strings("on_oom") == std::vector<std::string>{"save"});
  CHECK(recipe.checkpoint.integer("keep") == 3);
  CHECK(recipe.checkpoint.string("best") == "eval.loss:min");
  CHECK_FALSE(recipe.checkpoint.boolean("async"));
  CHECK(recipe.log.boolean("file"));
  CHECK(recipe.plugins.strings("search").empty());
  CHECK(recipe.model->plugin == "mlp");
  CHECK(recipe.model->options.integers("hidden") == std::vector<std::int64_t>{64});
  CHECK(recipe.model->options.number("dropout") == 0.0);
  CHECK(recipe.train_data->options.strings("images") ==
        std::vector<std::string>{recipe.folder + "/data/train-images.gz"});
  CHECK(recipe.dataset_train.boolean("shuffle"));
  CHECK_FALSE(recipe.eval_data.has_value());
  REQUIRE(recipe.hooks.size() == 1);
  CHECK(recipe.hooks[0].table == "hook.periodic_checkpoint");
  CHECK(recipe.hooks[0].options.interval("every").time == std::chrono::minutes(10));
}
