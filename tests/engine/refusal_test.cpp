// Saved states that a run cannot take: refused in words, before anything is changed.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/fixtures.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

void stop_at(Bench& bench, std::int64_t update) {
  bench.hook.on_window = [update](const WindowReport& report, Requests& requests) {
    if (report.update == update) requests.stop(ExitCode::kStoppedAfterSave, "enough for now");
  };
}

}  // namespace

TEST_CASE("a damaged state is refused before anything is changed") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 1);
  Bench bench(model, data);
  bench.run();
  const double w = model.value();
  engine::Trainer trainer(bench.parts);
  base::StateView view = bench.saver.last();
  view.model.clear();
  CHECK_THROWS_WITH_AS(
      trainer.restore(view),
      "checkpoint: error[checkpoint.model]: the saved model lacks the tensor 'w'\n  hint: use an older "
      "checkpoint",
      Error);
  view = bench.saver.last();
  view.model[0].bytes = view.model[0].bytes.first(2);
  CHECK_THROWS_WITH_AS(trainer.restore(view),
                       "checkpoint: error[checkpoint.tensor]: tensor 'w' has 2 bytes, but its shape needs 4", Error);
  view = bench.saver.last();
  view.progress_json = "{}";
  CHECK_THROWS_WITH_AS(trainer.restore(view),
                       doctest::Contains("checkpoint: error[checkpoint.progress]: progress.update is not there"),
                       Error);
  view.identity_json = "[";
  CHECK_THROWS_WITH_AS(trainer.restore(view),
                       "checkpoint: error[checkpoint.identity]: the saved identity is not a JSON object", Error);
  CHECK(model.value() == w);
}

TEST_CASE("a saved progress that no run can have is refused by field, value and range, and nothing is changed") {
  const TableDataset data = TableDataset::constant(7, 1);
  ProbeModel model;
  Bench bench(model, data);
  bench.parts.settings.batch_size = 2;
  stop_at(bench, 5);
  bench.parts.settings.epochs = 3;
  bench.run();
  engine::Trainer trainer(bench.parts);
  const auto before = trainer.state().progress_json;
  const auto refusal = [&](const char* field, const nlohmann::json& value) -> std::string {
    base::StateView view = bench.saver.last();
    auto object = nlohmann::json::parse(view.progress_json);
    object[field] = value;
    view.progress_json = object.dump();
    try {
      trainer.restore(view, true, "/c/state.json");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kMissingInput);
      CHECK(error.where() == "/c/state.json");
      CHECK(trainer.state().progress_json == before);
      return error.message();
    }
    return "accepted";
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  CHECK(refusal("window", -1) == "progress.window is -1; it must be from 0 to 9007199254740992: no run comes further");
  CHECK(refusal("window", kHuge).starts_with("progress.window is 4611686018427387904; it must be from 0 to "));
  CHECK(refusal("window", 0) == "progress.update is 5; it must be 0: a window gives at most one update");
  CHECK(refusal("update", kHuge) ==
        "progress.update is 4611686018427387904; it must be from 0 to 5: a window gives at most one update");
  CHECK(refusal("update", 4) ==
        "progress.skipped_windows is 0; it must be 1: 5 windows less 4 updates and 0 windows of weight 0");
  CHECK(refusal("epoch", kHuge) ==
        "progress.epoch is 4611686018427387904; it must be 1: window 5 with 4 windows an epoch");
  CHECK(refusal("samples_seen", INT64_MAX) ==
        "progress.samples_seen is 9223372036854775807; it must be 9: what 5 "
        "windows hold, less skipped samples");
  CHECK(refusal("best_update", -5) ==
        "progress.best_update is -5; it must be from 0 to 5: no later than the saved update");
  CHECK(refusal("evals_without_improvement", -1) ==
        "progress.evals_without_improvement is -1; it must be from 0 to 5: at most one a window");
  CHECK(refusal("last_eval_update", 6) ==
        "progress.last_eval_update is 6; it must be from -1 to 5: no later than the saved update");
  CHECK(refusal("best_metric", "x") == "progress.best_metric is \"x\"; it must be a number or null");
  CHECK(refusal("update", 5.0) == "progress.update is 5.0; it must be a whole number of 64 bits");
  CHECK(refusal("hooks", nlohmann::json::array()) == "progress.hooks is []; it must be an object");
  CHECK(refusal("last_eval", "x") == "progress.last_eval is \"x\"; it must be a list");
  CHECK(refusal("update", 5) == "accepted");
}

namespace {

/// Its state is a number; anything else is refused.
struct NumberHook : HookOf {
  void restore(std::string_view json) override {
    if (json.find("\"number\"") == std::string_view::npos) throw std::runtime_error("there is no number");
    text = json;
  }
};

/// A run of two hooks with a momentum, saved at its end.
struct TwoHooks {
  TwoHooks() : data(TableDataset::constant(4, 1)), bench(model, data) {
    bench.parts.settings.optimizer.momentum = 0.5;
    bench.parts.hooks = {{"hook.first", &first}, {"hook.second", &second}};
    bench.parts.choices = {{"hook.second.plugin", "\"number\""}};
    first.text = R"({"number":1})";
    second.text = R"({"number":2})";
  }
  ProbeModel model;
  TableDataset data;
  Bench bench;
  NumberHook first, second;
};

}  // namespace

TEST_CASE("optimizer, hooks and strategies are asked before anything is changed; refused, all is as it was") {
  TwoHooks saved;
  saved.bench.run();
  TwoHooks now;
  now.first.text = R"({"number":7})";
  now.second.text = R"({"number":8})";
  engine::Trainer trainer(now.bench.parts);
  const std::string before = trainer.state().progress_json;
  const auto refusal = [&](const std::function<void(base::StateView&)>& damage) -> std::string {
    base::StateView view = saved.bench.saver.last();
    damage(view);
    for (const bool only_check : {true, false}) {
      try {
        only_check ? trainer.check(view, "/c") : trainer.restore(view, true, "/c");
      } catch (const Error& error) {
        CHECK(error.code() == ExitCode::kMissingInput);
        CHECK(trainer.state().progress_json == before);
        CHECK(now.model.value() == 0);
        CHECK(now.first.text == R"({"number":7})");
        CHECK(now.second.text == R"({"number":8})");
        if (!only_check) return error.what();
      }
    }
    return "accepted";
  };
  const auto hook_state = [](base::StateView& view, const char* table, const char* text) {
    auto object = nlohmann::json::parse(view.progress_json);
    object["hooks"][table] = nlohmann::json::parse(text);
    view.progress_json = object.dump();
  };
  CHECK(
      refusal([&](base::StateView& view) { hook_state(view, "hook.second", "{}"); }) ==
      "/c: error[checkpoint.component]: [hook.second] cannot take its saved state: plugin 'hook.second': restore "
      "threw: there is no number\n  hint: the checkpoint is damaged: use another one (--resume CHECKPOINT) or restore "
      "it from a copy");
  CHECK(refusal([](base::StateView& view) { view.optimizer.clear(); }) ==
        "/c: error[checkpoint.optimizer]: the saved optimizer lacks the tensor 'w.momentum'\n  hint: use an older "
        "checkpoint");
  CHECK(refusal([](base::StateView& view) { view.optimizer.front().shape = {1}; }) ==
        "/c: error[checkpoint.optimizer]: the saved tensor 'w.momentum' has another shape or dtype than its identity "
        "says\n  hint: use an older checkpoint");
  CHECK(refusal([](base::StateView& view) {
          view.optimizer.push_back(view.optimizer.front());
          view.optimizer.back().name = "x\x1b";
        }) ==
        "/c: error[checkpoint.optimizer]: the saved optimizer has the tensor 'x\\x1b', which nobody asks for\n  hint: "
        "use an older checkpoint");
  CHECK(refusal([](base::StateView& view) { view.model.push_back({"extra", "F32", {0}, {}}); }) ==
        "/c: error[checkpoint.model]: the saved model has the tensor 'extra', which nobody asks for\n  hint: use an "
        "older checkpoint");
  CHECK(refusal([](base::StateView&) {}) == "accepted");
  CHECK(now.second.text == R"({"number":2})");
}

TEST_CASE("a state of another plugin in the same table is not handed over, and the change is told") {
  TwoHooks saved;
  saved.bench.run();
  base::StateView view = saved.bench.saver.last();
  TwoHooks now;
  now.bench.parts.choices = {{"hook.second.plugin", "\"other\""}};
  now.second.text = R"({"number":8})";
  engine::Trainer(now.bench.parts).restore(view);
  CHECK(now.second.text == R"({"number":8})");
  CHECK(now.bench.notes.notes ==
        std::vector<std::string>{R"(resume: hook.second.plugin: "number" -> "other" (the recipe wins))"});
}

TEST_CASE("a parameter that trains no more and a momentum that is kept no more are another run") {
  TwoHooks saved;
  saved.bench.run();
  TwoHooks plain;
  plain.bench.parts.settings.optimizer.momentum = 0;
  CHECK_THROWS_WITH_AS(engine::Trainer(plain.bench.parts).restore(saved.bench.saver.last()),
                       "checkpoint: error[resume.identity]: the saved run is another one than the recipe describes: "
                       "optimizer.momentum: saved kept, now none\n  hint: put these back, or start a new run (--new)",
                       Error);
  SmallMlp whole, part;
  const BlobDataset blobs(8);
  Bench first(whole, blobs), second(part, blobs);
  first.run();
  part.parameters()[0].tensor.requires_grad_(false);
  CHECK_THROWS_WITH_AS(engine::Trainer(second.parts).restore(first.saver.last()), doctest::Contains(", not trained\n"),
                       Error);
}
