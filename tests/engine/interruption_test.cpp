// An evaluation that a stop or a failure cuts short leaves no trace, and the run that goes on begins with it.
#include <doctest/doctest.h>

#include "engine/fixtures.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

/// The last sample of each batch of 4 cannot be read.
class HoleyBlobs : public BlobDataset {
 public:
  using BlobDataset::BlobDataset;
  void read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng& rng) const override {
    BlobDataset::read(indices, into, rng);
    for (std::size_t row = 3; row < indices.size(); row += 4) into.fail(row, "blobs", "a hole");
  }
};

/// Counts corrupt samples, in its state too.
class Counter : public HookOf {
 public:
  Counter() { verdict = FaultVerdict::kSkip; }
  std::string state() const override { return "{\"faults\":" + std::to_string(before_ + faults.size()) + "}"; }
  void restore(std::string_view json) override { before_ = std::stoul(std::string(json.substr(json.find(':') + 1))); }

 private:
  std::size_t before_ = 0;
};

/// 12 updates, an evaluation of 5 batches every 4.
struct Evaluated {
  Evaluated() : model(0.3), train(24), eval(20), bench(model, train) {
    bench.parts.eval = &eval;
    bench.parts.stop = &stop;
    bench.parts.hooks = {{"hook.counter", &counter}};
    auto& settings = bench.parts.settings;
    settings.epochs = 3;
    settings.batch_size = 6;
    settings.shuffle_train = true;
    settings.optimizer.lr = 0.02;
    settings.eval_batch_size = 4;
    settings.eval_every = {Interval::Unit::kUpdates, 4, {}};
    settings.best = {"accuracy", true};
    settings.early_stop = plan::EarlyStop{"loss", false, 3};
    model.on_forward = [this] {
      if (!at::GradMode::is_enabled() && ++evaluated == act_at) act();
    };
  }
  SmallMlp model;
  BlobDataset train;
  HoleyBlobs eval;
  Signal stop;
  Counter counter;
  Bench bench;
  int evaluated = 0, act_at = 0;  ///< forwards of evaluations; the one in which something happens
  std::function<void()> act = [this] { stop.raised = true; };
};

}  // namespace

TEST_CASE("a stop during an evaluation is obeyed between its batches, and costs no bit of state and no best metric") {
  Evaluated whole;
  const auto expected = whole.bench.run();
  CHECK(whole.evaluated == 15);
  for (const auto& [batch, update] : {std::pair{2, 4}, std::pair{7, 8}, std::pair{12, 12}}) {
    Evaluated first;
    first.act_at = batch;
    const auto stopped = first.bench.run();
    CHECK(stopped.code == ExitCode::kStoppedAfterSave);
    CHECK(stopped.reason == "SIGTERM from pid 1");
    CHECK(stopped.progress.update == update);
    CHECK(first.evaluated == batch);
    CHECK(first.counter.evals.size() == static_cast<std::size_t>(update / 4 - 1));
    CHECK(first.bench.notes.notes.back() == "the evaluation at update " + std::to_string(update) +
                                                " was cut short by the stop; it comes first when the run goes on");
    const auto& saved = first.bench.saver.saves.back();
    CHECK(saved->request.reason == "signal");
    CHECK(saved->request.update == update);

    Evaluated second;
    engine::Trainer trainer(second.bench.parts);
    trainer.restore(saved->view);
    const auto ended = trainer.run();
    CHECK(ended.code == ExitCode::kOk);
    CHECK(second.counter.evals.front().update == update);
    CHECK(ended.last_eval == expected.last_eval);
    CHECK(ended.progress.best_metric == expected.progress.best_metric);
    CHECK(ended.progress.best_update == expected.progress.best_update);
    CHECK(at::equal(second.model.flat(), whole.model.flat()));
    CHECK(second.bench.saver.last().progress_json == whole.bench.saver.last().progress_json);
    CHECK(second.bench.saver.saves.back()->request.reason == "end");
  }
}

TEST_CASE("an evaluation cut short twice, and one that failed, are still owed") {
  Evaluated whole;
  whole.bench.run();
  Evaluated first, second, third;
  first.act_at = 2;
  first.act = [] { throw std::runtime_error("broken scorer"); };
  CHECK_THROWS_WITH_AS(first.bench.run(), "evaluation, batch 1: error[model.exception]: broken scorer", Error);
  REQUIRE(first.bench.saver.saves.size() == 1);
  second.act_at = 1;
  engine::Trainer again(second.bench.parts);
  again.restore(first.bench.saver.last(), false);
  CHECK(again.run().code == ExitCode::kStoppedAfterSave);
  CHECK(second.counter.windows.empty());
  REQUIRE(second.bench.saver.saves.size() == 1);
  engine::Trainer last(third.bench.parts);
  last.restore(second.bench.saver.last());
  last.run();
  CHECK(third.bench.saver.last().progress_json == whole.bench.saver.last().progress_json);
}

TEST_CASE("the best weights of an evaluation that was owed are saved as the best") {
  Evaluated first, second;
  first.act_at = 3;
  first.bench.run();
  CHECK_FALSE(first.bench.saver.saves.back()->request.best);
  engine::Trainer trainer(second.bench.parts);
  trainer.restore(first.bench.saver.last());
  trainer.run();
  CHECK(second.bench.saver.saves.front()->request.update == 4);
  CHECK(second.bench.saver.saves.front()->request.best);
}
