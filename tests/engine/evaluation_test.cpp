// Evaluation leaves no trace in training; best metric and early stopping survive NaN and resumes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "engine/fixtures.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

/// A run with one evaluation an update whose "quality" takes the given values in turn.
struct Judged {
  explicit Judged(std::vector<double> values) : data(TableDataset::constant(8, 1)), bench(model, data) {
    bench.parts.eval = &data;
    bench.parts.settings.eval_every = {Interval::Unit::kUpdates, 1, {}};
    bench.parts.settings.eval_batch_size = 8;
    bench.parts.settings.epochs.reset();
    bench.parts.settings.updates = static_cast<std::int64_t>(values.size());
    bench.parts.settings.best = {"quality", false};
    model.on_score = [values = std::move(values), n = std::size_t{0}]() mutable { return values.at(n++); };
  }
  ProbeModel model;
  TableDataset data;
  Bench bench;
};

}  // namespace

TEST_CASE("C25: training mode and grad mode are back after an evaluation, also after one that throws") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(20, 1);
  Bench bench(model, data);
  bench.parts.eval = &data;
  bench.parts.settings.batch_size = 2;
  bench.parts.settings.eval_batch_size = 5;
  bench.parts.settings.eval_every = {Interval::Unit::kUpdates, 5, {}};
  engine::Trainer trainer(bench.parts);
  model.on_forward = [](int n) {
    if (n == 2) throw std::runtime_error("broken label");
  };
  CHECK_THROWS_WITH_AS(trainer.evaluate(), "evaluation, batch 1: error[model.exception]: broken label", Error);
  CHECK(model.training);
  CHECK(at::GradMode::is_enabled());
  model.on_forward = nullptr;
  trainer.run();
  int trained = 0, evaluated = 0;
  for (const auto& [training, grad] : model.modes) {
    CHECK(training == grad);
    (training ? trained : evaluated) += 1;
  }
  CHECK(trained == 10);
  CHECK(evaluated == 2 + 2 * 4);
}

TEST_CASE("scores are sums over the whole set divided once, loss first") {
  ProbeModel model;
  const TableDataset train = TableDataset::constant(1, 1);
  const TableDataset eval({{1}, {2}, {6}}, {{1}, {1}, {1}});
  Bench bench(model, train);
  bench.parts.eval = &eval;
  bench.parts.settings.eval_batch_size = 2;
  const auto outcome = bench.run();
  REQUIRE(outcome.last_eval.size() == 1);
  CHECK(outcome.last_eval[0].first == "loss");
  CHECK(outcome.last_eval[0].second == -3.0);  // w = -1
  CHECK(model.evaluated == std::vector<std::int64_t>{0, 1, 2});
}

TEST_CASE("C57: NaN neither wins nor blocks the best metric, in both directions") {
  for (const bool maximise : {false, true}) {
    const double sign = maximise ? -1 : 1;
    Judged judged({NAN, sign * 0.5, sign * 0.4, NAN});
    judged.bench.parts.settings.best.maximise = maximise;
    const auto outcome = judged.bench.run();
    REQUIRE(outcome.progress.best_metric);
    CHECK(*outcome.progress.best_metric == sign * 0.4);
    CHECK(outcome.progress.best_update == 3);
    std::vector<std::int64_t> best;
    for (const auto& kept : judged.bench.saver.saves)
      if (kept->request.best) best.push_back(kept->request.update);
    CHECK(best == std::vector<std::int64_t>{2, 3});
  }
}

TEST_CASE("early stopping ends the run with code 0 and the reason") {
  Judged judged({3, 2, 2.5, NAN, 2, 1});
  judged.bench.parts.settings.early_stop = plan::EarlyStop{"quality", false, 3};
  const auto outcome = judged.bench.run();
  CHECK(outcome.code == ExitCode::kOk);
  CHECK(outcome.progress.update == 5);
  CHECK(outcome.reason == "early stop at update 5: 'quality' has not improved in 3 evaluations (best: 2)");
  CHECK(judged.bench.saver.saves.back()->request.reason == "end");
}

TEST_CASE("best metric and patience go on after a resume, and begin anew on other eval data") {
  Judged first({3, 2, 2.5});
  first.bench.run();
  Judged second({0, 0, 0, 2.6, 2.7, 1});  // as many as updates; the first three belong to the first process
  second.model.on_score = [values = std::vector<double>{2.6, 2.7, 1}, n = std::size_t{0}]() mutable {
    return values.at(n++);
  };
  second.bench.parts.settings.early_stop = plan::EarlyStop{"quality", false, 2};
  engine::Trainer trainer(second.bench.parts);
  trainer.restore(first.bench.saver.last());
  const auto outcome = trainer.run();
  CHECK(*outcome.progress.best_metric == 1);

  Judged third({0, 0, 0, 2.6});
  third.model.on_score = [] { return 2.6; };
  const TableDataset other = TableDataset::constant(3, 1);
  third.bench.parts.eval = &other;
  engine::Trainer anew(third.bench.parts);
  anew.restore(first.bench.saver.last());
  CHECK(third.bench.notes.notes.at(0) ==
        "resume: the eval data is not that of the saved run; best metric and early stopping begin anew");
  CHECK(*anew.run().progress.best_metric == 2.6);
}

TEST_CASE("another goal on resume begins the best value anew, so that unlike metrics are never compared") {
  Judged first({3, 2, 2.5});
  first.bench.run();
  Judged changed({0, 0, 0, 2.6});
  changed.model.on_score = [] { return 2.6; };
  changed.bench.parts.settings.best.maximise = true;
  engine::Trainer trainer(changed.bench.parts);
  trainer.restore(first.bench.saver.last());
  const auto& notes = changed.bench.notes.notes;
  REQUIRE(!notes.empty());
  CHECK(notes.at(0) == "resume: the best checkpoint is chosen by another metric now; the best value begins anew");
  const auto outcome = trainer.run();
  CHECK(*outcome.progress.best_metric == 2.6);
  CHECK(outcome.progress.best_update > 3);
}

TEST_CASE("a metric that the model does not give is named with those it gives") {
  Judged judged({1, 1});
  judged.bench.parts.settings.best.metric = "bleu";
  CHECK_THROWS_WITH_AS(judged.bench.run(),
                       "checkpoint.best: error[metric.unknown]: got 'bleu'; the model's scores are: loss, quality",
                       Error);
}

TEST_CASE("evaluations come every so many updates or epochs, and at the end") {
  for (const auto& [every, expected] :
       {std::pair{Interval{Interval::Unit::kUpdates, 3, {}}, std::vector<std::int64_t>{3, 6, 8}},
        std::pair{Interval{Interval::Unit::kEpochs, 1, {}}, std::vector<std::int64_t>{4, 8}},
        std::pair{Interval{Interval::Unit::kTime, 0, std::chrono::hours(1)}, std::vector<std::int64_t>{8}}}) {
    ProbeModel model;
    const TableDataset data = TableDataset::constant(4, 1);
    Bench bench(model, data);
    bench.parts.eval = &data;
    bench.parts.settings.epochs = 2;
    bench.parts.settings.eval_every = every;
    bench.run();
    std::vector<std::int64_t> updates;
    for (const auto& report : bench.hook.evals) updates.push_back(report.update);
    CHECK(updates == expected);
  }
}

TEST_CASE("early stopping without eval data is refused") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 1);
  Bench bench(model, data);
  bench.parts.settings.early_stop = plan::EarlyStop{"loss", false, 3};
  CHECK_THROWS_WITH_AS(engine::Trainer(bench.parts),
                       "train.early_stop: error[early_stop.no_eval]: there is no [dataset.eval] to judge by\n"
                       "  hint: add an eval data set or remove train.early_stop",
                       Error);
}

TEST_CASE("an evaluation every 0 updates is refused") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 1);
  Bench bench(model, data);
  bench.parts.settings.eval_every = {Interval::Unit::kUpdates, 0, {}};
  CHECK_THROWS_WITH_AS(engine::Trainer(bench.parts),
                       "train.eval_every: error[eval.interval]: got 0; it is at least 1 update or 1 epoch", Error);
}
