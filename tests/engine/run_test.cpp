// Stops, saves, requests, corrupt samples, and what a run refuses.
#include <doctest/doctest.h>

#include "device/anomaly.hpp"
#include "engine/fixtures.hpp"

using namespace holdfast;
using namespace holdfast::tests;

TEST_CASE("a signal ends the window, saves, and the outcome is 75") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(6, 1);
  Bench bench(model, data);
  Signal signal;
  bench.parts.stop = &signal;
  model.on_forward = [&](int n) { signal.raised = n == 3; };
  const auto outcome = bench.run();
  CHECK(outcome.code == ExitCode::kStoppedAfterSave);
  CHECK(outcome.reason == "SIGTERM from pid 1");
  CHECK(outcome.progress.update == 3);
  REQUIRE(bench.saver.saves.size() == 1);
  CHECK(bench.saver.saves[0]->request.reason == "signal");
  CHECK(bench.saver.saves[0]->request.update == 3);
  CHECK(bench.hook.ended == std::vector<int>{static_cast<int>(ExitCode::kStoppedAfterSave)});
}

TEST_CASE("a signal between micro-batches abandons the window: no half update") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(8, 1);
  Bench bench(model, data);
  bench.micro(1);
  bench.parts.settings.batch_size = 4;
  Signal signal;
  bench.parts.stop = &signal;
  model.on_forward = [&](int n) { signal.raised = n == 6; };
  const auto outcome = bench.run();
  CHECK(outcome.code == ExitCode::kStoppedAfterSave);
  CHECK(outcome.progress.update == 1);
  CHECK(model.value() == -1);
  CHECK_FALSE(model.w.grad().defined());
  CHECK(bench.saver.saves.at(0)->request.update == 1);
}

TEST_CASE("a stop before the first update saves what there is: 75 is true, and the run goes on from there") {
  const BlobDataset data(12);
  const auto prepare = [](Bench& bench) {
    bench.micro(1);
    bench.parts.settings.batch_size = 4;
    bench.parts.settings.optimizer.lr = 0.01;
  };
  SmallMlp model(0.3);
  Bench bench(model, data);
  prepare(bench);
  Signal signal;
  bench.parts.stop = &signal;
  model.on_forward = [&] { signal.raised = true; };
  const auto outcome = bench.run();
  CHECK(outcome.code == ExitCode::kStoppedAfterSave);
  CHECK(outcome.progress.update == 0);
  REQUIRE(bench.saver.saves.size() == 1);
  CHECK(bench.saver.saves[0]->request.update == 0);

  // Stopped again before an update: the state lies where this run saves, or in another run's place.
  for (const bool saved_here : {true, false}) {
    SmallMlp again(0.3);
    Bench resumed(again, data);
    prepare(resumed);
    resumed.parts.stop = &signal;
    engine::Trainer trainer(resumed.parts);
    trainer.restore(bench.saver.last(), saved_here);
    CHECK(trainer.run().code == ExitCode::kStoppedAfterSave);
    CHECK(resumed.saver.saves.size() == (saved_here ? 0 : 1));
  }

  SmallMlp last(0.3), whole(0.3);
  Bench resumed(last, data), uninterrupted(whole, data);
  prepare(resumed);
  prepare(uninterrupted);
  engine::Trainer trainer(resumed.parts);
  trainer.restore(bench.saver.last());
  trainer.run();
  uninterrupted.run();
  CHECK(at::equal(last.flat(), whole.flat()));
}

TEST_CASE("a failure before the first window saves nothing that would refuse the mended recipe") {
  ProbeModel model;
  TableDataset data = TableDataset::constant(6, 1);
  data.corrupt = {{0, "bad magic"}};
  Bench bench(model, data);
  CHECK_THROWS_WITH_AS(bench.run(), doctest::Contains("error[data.corrupt]"), Error);
  CHECK(bench.saver.saves.empty());
}

TEST_CASE("a reached target wins over a stop, a hook's own code over both") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(2, 1);
  Bench bench(model, data);
  ExitCode code = ExitCode::kStoppedAfterSave;
  bench.hook.on_window = [&](const WindowReport& report, Requests& requests) {
    if (report.last) requests.stop(code, "asked");
  };
  CHECK(bench.run().code == ExitCode::kOk);
  CHECK(bench.saver.saves.back()->request.reason == "end");
  code = ExitCode::kDiverged;
  const auto outcome = bench.run();
  CHECK(outcome.code == ExitCode::kDiverged);
  CHECK(outcome.reason == "asked");
}

TEST_CASE("requests that cannot be met are refused in words, with the hook's name") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(2, 1);
  {
    Bench bench(model, data);
    bench.hook.on_window = [&](const WindowReport&, Requests& requests) { requests.skip_window("spike"); };
    CHECK_THROWS_WITH_AS(bench.run(),
                         "hook.probe: error[hook.request]: asked to skip a window (spike), which this release cannot "
                         "do here\n  hint: set enabled = false in [hook.probe]",
                         Error);
    CHECK(bench.saver.saves.size() == 1);
    CHECK(bench.saver.saves[0]->request.reason == "error");
  }
}

TEST_CASE("a save that fails is told and the run goes on, or ends when asked to") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(3, 1);
  for (const bool stop : {false, true}) {
    Bench bench(model, data);
    bench.parts.stop_on_save_error = stop;
    bench.saver.on_save = [n = 0]() mutable {
      if (++n == 1) throw Error(ExitCode::kIoError, "io.full", "/disk", "no space left");
    };
    bench.hook.on_window = [](const WindowReport& report, Requests& requests) {
      if (report.update == 1) requests.save("periodic");
    };
    if (stop) {
      CHECK_THROWS_WITH_AS(bench.run(), "/disk: error[io.full]: no space left", Error);
      CHECK(bench.saver.saves.empty());
    } else {
      CHECK(bench.run().code == ExitCode::kOk);
      CHECK(bench.notes.notes ==
            std::vector<std::string>{"the checkpoint of update 1 could not be written and the run goes on; it is tried "
                                     "again in 1 s: /disk: error[io.full]: no space left"});
      REQUIRE(bench.hook.saves.size() == 2);
      CHECK_FALSE(bench.hook.saves[0].ok);
      CHECK(bench.hook.saves[1].ok);
    }
  }
}

TEST_CASE("corrupt samples are asked about in order; skipped ones leave the batch") {
  ProbeModel model;
  TableDataset data(TableDataset::Rows{{1}, {2}, {4}, {8}, {16}, {32}});
  data.corrupt = {{1, "bad magic"}, {3, "bad magic"}, {4, "short"}, {5, "short"}};
  Bench bench(model, data);
  bench.parts.settings.batch_size = 4;
  bench.parts.settings.loader_threads = 3;
  bench.hook.verdict = FaultVerdict::kSkip;
  const auto outcome = bench.run();
  CHECK(model.value() == -2.5);  // (1 + 4) / 2; nothing is left of the second window
  CHECK(outcome.progress.skipped_samples == 4);
  CHECK(outcome.progress.no_op_windows == 1);
  CHECK(outcome.progress.samples_seen == 2);
  CHECK(bench.notes.skipped == std::vector<std::int64_t>{1, 3, 4, 5});
}

TEST_CASE("a corrupt sample that nobody decides on ends the run with 65, after a save") {
  for (const auto verdict : {FaultVerdict::kUndecided, FaultVerdict::kFail}) {
    ProbeModel model;
    TableDataset data = TableDataset::constant(6, 1);
    data.corrupt = {{3, "bad magic"}};
    Bench bench(model, data);
    bench.hook.verdict = verdict;
    CHECK_THROWS_WITH_AS(bench.run(),
                         "table: error[data.corrupt]: sample 3 cannot be read: bad magic\n  hint: repair the data, or "
                         "allow a share of corrupt samples with [hook.skip_corrupt]",
                         Error);
    CHECK(bench.saver.saves.at(0)->request.update == 3);
    CHECK(bench.hook.ended == std::vector<int>{static_cast<int>(ExitCode::kBadData)});
  }
}

TEST_CASE("exceptions of plugins become exit 70 with their place") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 1);
  {
    Bench bench(model, data);
    model.on_forward = [](int) { at::zeros({2}) + at::zeros({3}); };
    CHECK_THROWS_WITH_AS(
        bench.run(),
        "forward of update 1, micro-batch 0: error[model.exception]: The size of tensor a (2) must match "
        "the size of tensor b (3) at non-singleton dimension 0",
        Error);
    model.on_forward = nullptr;
  }
  struct Throwing : TableDataset {
    using TableDataset::TableDataset;
    void read(std::span<const std::int64_t>, BatchBuilder&, const SampleRng&) const override {
      throw std::runtime_error("index out of range");
    }
  };
  const Throwing broken(TableDataset::Rows{{1}});
  Bench bench(model, broken);
  CHECK_THROWS_WITH_AS(bench.run(),
                       "dataset.train: error[dataset.exception]: reading window 0 threw: index out of range", Error);
}

TEST_CASE("anomaly mode ends the run with 82 and the operation that made the first NaN of a backward pass") {
  struct Root : Strategy {
    bool transforms_loss() const override { return true; }
    at::Tensor transform_loss(at::Tensor loss, const PhaseInfo& at) override {
      return at.update < 2 ? loss : loss + (loss - loss.detach()).sqrt() * 0;
    }
  } root;
  SmallMlp model;
  const BlobDataset data(16);
  Bench bench(model, data);
  bench.parts.settings.batch_size = 8;
  bench.parts.strategies = {{"strategy.root", &root}};
  device::set_anomaly_mode(true);
  std::string told;
  try {
    bench.run();
  } catch (const Error& error) {
    told = error.what();
    CHECK(error.code() == ExitCode::kDiverged);
  }
  device::set_anomaly_mode(false);
  CHECK(
      told.starts_with("backward of update 2, micro-batch 0: error[model.anomaly]: Function 'SqrtBackward0' returned "
                       "nan values in its 0th output"));
  CHECK(told.ends_with("\n  hint: run.anomaly_mode found where the first NaN of the backward pass comes from"));
}

TEST_CASE("a model that does not keep its promises is told so") {
  struct Broken : ProbeModel {
    double weight(const Batch&) const override { return given; }
    at::Tensor loss(const Outputs& outputs, const Batch&) override {
      return vector ? outputs.get("sum").expand({2}) : outputs.get("sum").detach();
    }
    double given = 1;
    bool vector = false;
  } model;
  const TableDataset data = TableDataset::constant(1, 1);
  Bench bench(model, data);
  for (const bool vector : {false, true}) {
    model.vector = vector;
    CHECK_THROWS_WITH_AS(
        bench.run(),
        "model: error[model.loss]: loss() must give one number that depends on a parameter\n  hint: sum "
        "over the units of the batch, and check that a parameter requires a gradient",
        Error);
  }
  model.given = -1;
  CHECK_THROWS_WITH_AS(
      bench.run(),
      "model: error[model.weight]: weight() gave -1.000000; it counts units and is a finite number, at "
      "least 0",
      Error);
}

TEST_CASE("a run that can never reach its target ends with 82") {
  ProbeModel model;
  const TableDataset data({{1}}, {{0}});
  Bench bench(model, data);
  bench.parts.settings.epochs.reset();
  bench.parts.settings.updates = 5;
  CHECK_THROWS_WITH_AS(
      bench.run(),
      "update 0: error[run.fruitless]: none of the last 1000 windows could be applied (0 dropped, 1000 of "
      "weight 0 so far)\n  hint: lower optimizer.lr, or look for NaN and for labels that are all masked",
      Error);
}

TEST_CASE("empty data, no window and a warm-up longer than the run are refused") {
  ProbeModel model;
  const TableDataset none(TableDataset::Rows{}), three = TableDataset::constant(3, 1);
  CHECK_THROWS_WITH_AS(engine::Trainer(Bench(model, none).parts),
                       "dataset.train: error[dataset.empty]: the data set has no samples\n  hint: check that its paths "
                       "name the files that were meant",
                       Error);
  Bench few(model, three);
  few.parts.settings.batch_size = 4;
  few.parts.settings.drop_last_train = true;
  CHECK_THROWS_WITH_AS(
      engine::Trainer(few.parts),
      "dataset.train: error[dataset.no_window]: drop_last leaves nothing of 3 samples in batches of 4\n"
      "  hint: set drop_last = false or a smaller batch size",
      Error);
  Bench warm(model, three);
  warm.parts.settings.schedule.warmup_updates = 4;
  CHECK_THROWS_WITH_AS(
      engine::Trainer(warm.parts),
      "schedule.warmup_updates: error[schedule.warmup]: a warm-up of 4 updates is longer than the run of 3", Error);
}

TEST_CASE("loader threads change neither order nor content") {
  std::vector<std::int64_t> orders[2];
  for (const int i : {0, 1}) {
    ProbeModel model;
    const TableDataset data = TableDataset::constant(200, 1);
    Bench bench(model, data);
    bench.parts.settings.shuffle_train = true;
    bench.parts.settings.batch_size = 7;
    bench.parts.settings.epochs = 2;
    bench.parts.settings.loader_threads = i == 0 ? 0 : 4;
    bench.run();
    orders[i] = model.seen;
  }
  CHECK(orders[0] == orders[1]);
  CHECK(orders[0].size() == 400);
}

TEST_CASE("an observer is told why a window was dropped, and the time of each phase of one that was not") {
  struct Watcher : engine::Observer {
    void window(const engine::WindowSeen& seen) override {
      dropped.emplace_back(seen.dropped);
      times.push_back(seen.times);
    }
    std::vector<std::string> dropped;
    std::vector<engine::StepTimes> times;
  } watcher;
  ProbeModel model;
  const TableDataset data({{1}, {NAN}, {1}}, {{1}, {1}, {0}});
  Bench bench(model, data);
  bench.parts.observer = &watcher;
  bench.run();
  REQUIRE(watcher.dropped == std::vector<std::string>{"", "nonfinite", "empty"});
  CHECK(watcher.times[0].forward > Duration{});
  CHECK(watcher.times[0].backward > Duration{});
  CHECK(watcher.times[0].update > Duration{});
  CHECK(watcher.times[2].forward == Duration{});
}
