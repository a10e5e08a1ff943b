// A resumed run is the uninterrupted run: data, random numbers, moments, counters.
#include <doctest/doctest.h>

#include "engine/fixtures.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

void stop_at(Bench& bench, std::int64_t update) {
  bench.hook.on_window = [update](const WindowReport& report, Requests& requests) {
    if (report.update == update) requests.stop(ExitCode::kStoppedAfterSave, "enough for now");
  };
}

struct Dropped {
  explicit Dropped(int threads) : model(0.4), data(101), bench(model, data) {
    auto& settings = bench.parts.settings;
    settings.epochs = 3;
    settings.batch_size = 8;
    settings.shuffle_train = true;
    settings.loader_threads = threads;
    settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
    settings.optimizer.lr = 0.01;
    settings.schedule = {plan::ScheduleSettings::Name::kCosine, 5, 0.001};
    settings.clip_grad_norm = 0.5;
    bench.micro(3);
  }
  SmallMlp model;
  BlobDataset data;
  Bench bench;
};

}  // namespace

TEST_CASE("resumed in mid-epoch, with dropout, with 1 and 3 loader threads: equal bits, equal progress") {
  Dropped whole(1);
  whole.bench.run();
  const std::string progress = whole.bench.saver.last().progress_json;
  for (const int threads : {1, 3}) {
    Dropped first(threads);
    stop_at(first.bench, 17);
    const auto stopped = first.bench.run();
    CHECK(stopped.code == ExitCode::kStoppedAfterSave);
    CHECK(stopped.reason == "enough for now");
    at::manual_seed(123456);  // whatever the generators held, a resume does not need it
    Dropped second(threads);
    engine::Trainer trainer(second.bench.parts);
    trainer.restore(first.bench.saver.last());
    CHECK(trainer.run().progress.update == 39);
    CHECK(at::equal(second.model.flat(), whole.model.flat()));
    CHECK(second.bench.saver.last().progress_json == progress);
  }
}

TEST_CASE(
    "C27: with warm-up and cosine the learning rates after a resume are those of the uninterrupted run, bit for bit") {
  const auto rates_of = [](const Bench& bench) {
    std::vector<double> rates;
    for (const WindowReport& window : bench.hook.windows) rates.push_back(window.learning_rate);
    return rates;
  };
  Dropped whole(1);
  whole.bench.run();
  for (const std::int64_t at : {3, 5, 23}) {  // in the warm-up, at its end, on the way down
    Dropped first(1), second(1);
    stop_at(first.bench, at);
    first.bench.run();
    engine::Trainer trainer(second.bench.parts);
    trainer.restore(first.bench.saver.last());
    trainer.run();
    std::vector<double> rates = rates_of(first.bench);
    for (const double rate : rates_of(second.bench)) rates.push_back(rate);
    CHECK(rates == rates_of(whole.bench));
  }
}

TEST_CASE("C36: another micro-batch goes on by samples to the same target; another batch is refused in words") {
  const TableDataset data = TableDataset::constant(32, 1);
  const auto prepare = [](Bench& bench, std::int64_t batch, std::int64_t micro) {
    bench.parts.settings.batch_size = batch;
    bench.micro(micro);
  };
  ProbeModel one, four, three;
  Bench first(one, data), second(four, data), third(three, data);
  prepare(first, 4, 1);
  stop_at(first, 2);
  first.run();
  prepare(second, 4, 4);
  engine::Trainer trainer(second.parts);
  trainer.restore(first.saver.last());
  const auto ended = trainer.run();
  CHECK(ended.progress.update == 8);
  CHECK(ended.progress.samples_seen == 32);
  CHECK(four.seen.front() == 8);
  CHECK(four.value() == -8);
  prepare(third, 3, 3);
  engine::Trainer other(third.parts);
  CHECK_THROWS_WITH_AS(other.check(first.saver.last(), "checkpoint"), doctest::Contains("batch_size: saved 4, now 3"),
                       Error);
}

TEST_CASE("C30: five sessions of two updates see ten different samples, those of one run") {
  const TableDataset data = TableDataset::constant(100, 1);
  const auto prepare = [](Bench& bench) {
    bench.parts.settings.shuffle_train = true;
    bench.parts.settings.epochs.reset();
    bench.parts.settings.updates = 10;
  };
  ProbeModel whole;
  Bench uninterrupted(whole, data);
  prepare(uninterrupted);
  uninterrupted.run();

  std::vector<std::int64_t> seen;
  std::unique_ptr<MemorySaver::Kept> saved;
  for (int session = 1; session <= 5; ++session) {
    ProbeModel model;
    Bench bench(model, data);
    prepare(bench);
    stop_at(bench, 2 * session);
    engine::Trainer trainer(bench.parts);
    if (saved) trainer.restore(saved->view);
    trainer.run();
    saved = std::move(bench.saver.saves.back());
    seen.insert(seen.end(), model.seen.begin(), model.seen.end());
  }
  CHECK(seen == whole.seen);
  std::sort(seen.begin(), seen.end());
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

TEST_CASE("C35: positions count windows, not micro-batches") {
  const TableDataset data = TableDataset::constant(100, 1);
  ProbeModel first, second;
  Bench before(first, data), after(second, data);
  for (auto* bench : {&before, &after}) {
    bench->micro(1);
    bench->parts.settings.batch_size = 4;
    bench->parts.settings.epochs = 2;
  }
  stop_at(before, 30);
  before.run();
  engine::Trainer trainer(after.parts);
  trainer.restore(before.saver.last());
  const auto outcome = trainer.run();
  CHECK(second.seen.front() == 20);
  CHECK(after.hook.windows.front().update == 31);
  CHECK(after.hook.windows.front().epoch == 1);
  CHECK(outcome.progress.update == 50);
  CHECK(outcome.progress.samples_seen == 200);
}

TEST_CASE("C40: a target counts from the beginning of the run, not from the resume") {
  const TableDataset data = TableDataset::constant(7, 1);
  const auto resume = [&](std::int64_t at, std::int64_t target) {
    ProbeModel first, second;
    Bench before(first, data), after(second, data);
    for (auto* bench : {&before, &after}) bench->parts.settings.epochs.reset();
    before.parts.settings.updates = at;
    after.parts.settings.updates = target;
    before.run();
    engine::Trainer trainer(after.parts);
    trainer.restore(before.saver.last());
    const auto outcome = trainer.run();
    CHECK(outcome.code == ExitCode::kOk);
    CHECK(outcome.progress.update == target);
    CHECK(after.saver.saves.empty() == (at == target));
    if (at == target) CHECK(outcome.reason == "the target of 123 updates was reached before");
    return after.hook.windows.size();
  };
  CHECK(resume(100, 123) == 23);
  CHECK(resume(123, 123) == 0);
  CHECK(resume(123, 150) == 27);
}

TEST_CASE("C44: a checkpoint labelled N holds the state after update N") {
  ProbeModel model;
  const TableDataset data(TableDataset::Rows{{3}, {5}});
  Bench bench(model, data);
  bench.parts.settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
  bench.hook.on_window = [&](const WindowReport&, Requests& requests) { requests.save("periodic"); };
  bench.run();
  const auto& first = *bench.saver.saves.at(0);
  CHECK(first.request.update == 1);
  CHECK(first.request.reason == "periodic");
  float w = 0, step = 0;
  std::memcpy(&w, first.view.model.at(0).bytes.data(), sizeof w);
  CHECK(w == doctest::Approx(-1.0));  // Adam's first step is lr
  REQUIRE(first.view.optimizer.at(2).name == "w.step");
  std::memcpy(&step, first.view.optimizer[2].bytes.data(), sizeof step);
  CHECK(step == 1);
  ProbeModel resumed;
  Bench after(resumed, data);
  after.parts.settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
  engine::Trainer trainer(after.parts);
  trainer.restore(first.view);
  trainer.run();
  CHECK(after.hook.windows.front().update == 2);
  CHECK(resumed.value() == model.value());
}

TEST_CASE("another model, data, seed or batch is refused, all differences together") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 1), other = TableDataset::constant(5, 1);
  Bench bench(model, data);
  bench.run();
  Bench changed(model, other);
  changed.parts.settings.seed = 7;
  changed.parts.settings.batch_size = 2;
  engine::Trainer trainer(changed.parts);
  CHECK_THROWS_WITH_AS(
      trainer.restore(bench.saver.last()),
      "checkpoint: error[resume.identity]: the saved run is another one than the recipe describes: "
      "dataset.train.fingerprint: saved table of 4, now table of 5; dataset.train.size: saved 4, now 5; "
      "run.seed: saved 0, now 7; train.batch_size: saved 1, now 2\n"
      "  hint: put these back, or start a new run (--new)",
      Error);
  SmallMlp wider;
  const BlobDataset blobs(8);
  Bench another(wider, blobs);
  CHECK_THROWS_WITH_AS(engine::Trainer(another.parts).restore(bench.saver.last()),
                       doctest::Contains("model w: saved F32 [], now nothing"), Error);
}

TEST_CASE("whatever the identity lets change is told with both values, one line a key or table") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 1);
  Bench bench(model, data);
  bench.parts.choices = {{"model.dropout", "0.1"}, {"hook.probe.every", "\"1 epoch\""}, {"train.epochs", "1"},
                         {"optimizer.lr", "1"},    {"train.clip_grad_norm", "3"},       {"hook.\x1b.every", "1"},
                         {"hook.\x1b.share", "1"}};
  bench.run();
  Bench changed(model, data);
  changed.parts.settings.optimizer.lr = 0.5;
  changed.parts.settings.epochs = 2;
  changed.parts.choices = {{"model.dropout", "0.2"},         {"hook.probe.every", "\"1 epoch\""},
                           {"hook.probe.share", "0.5"},      {"strategy.amp.dtype", "\"bf16\""},
                           {"strategy.amp.enabled", "true"}, {"train.epochs", "2"},
                           {"optimizer.lr", "0.5"}};
  engine::Trainer trainer(changed.parts);
  trainer.restore(bench.saver.last());
  CHECK(changed.notes.notes ==
        std::vector<std::string>{
            "resume: model.dropout: 0.1 -> 0.2 (the recipe wins)",
            "resume: hook.probe.share: not set -> 0.5 (the recipe wins)",
            "resume: [strategy.amp] was added (the recipe wins)", "resume: train.epochs: 1 -> 2 (the recipe wins)",
            "resume: optimizer.lr: 1 -> 0.5 (the recipe wins)", "resume: [hook.\\x1b] was removed (the recipe wins)",
            "resume: train.clip_grad_norm: 3 -> not set (the recipe wins)"});
  CHECK(trainer.run().progress.update == 8);
}

TEST_CASE("a saved state that does not say what was chosen is taken without a word") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 1);
  Bench bench(model, data);
  bench.run();
  base::StateView view = bench.saver.last();
  for (const char* extra :
       {"", "{}", "[]", R"({"choices":7,"goals":"x"})", R"({"goals":{"best":1},"choices":{"a":1}})"}) {
    view.extra_json = extra;
    Bench after(model, data);
    engine::Trainer(after.parts).restore(view);
    CHECK(after.notes.notes.empty());
  }
}

TEST_CASE("another number of threads is told, with the warning that bits may differ") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 1);
  Bench bench(model, data);
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  bench.run();
  Bench changed(model, data);
  at::set_num_threads(2);
  engine::Trainer trainer(changed.parts);
  trainer.restore(bench.saver.last());
  at::set_num_threads(threads);
  CHECK(changed.notes.notes ==
        std::vector<std::string>{"resume: run.threads: 1 -> 2",
                                 "resume: the bits may differ from those of a run that was not interrupted"});
}

TEST_CASE("hooks and strategies get their own state back") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 1);
  Bench bench(model, data);
  bench.hook.text = R"({"last":3})";
  bench.run();
  Bench after(model, data);
  engine::Trainer trainer(after.parts);
  trainer.restore(bench.saver.last());
  CHECK(after.hook.text == R"({"last":3})");
}
