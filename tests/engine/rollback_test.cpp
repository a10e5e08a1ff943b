// Windows that hooks are against, going back, and states that are refused.
#include <doctest/doctest.h>

#include <chrono>
#include <limits>

#include "base/finite.hpp"
#include "engine/fixtures.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Twelve samples 1, 2, 4, ...: the weight at the end tells which of them were trained on.
struct Powers {
  explicit Powers(std::int64_t save_every = 3) : data(rows()), bench(model, data) {
    bench.parts.settings.epochs = 1;
    bench.hook.on_window = [save_every](const WindowReport& report, Requests& requests) {
      if (report.applied && report.update % save_every == 0) requests.save("periodic");
    };
  }
  static TableDataset::Rows rows() {
    TableDataset::Rows made;
    for (int i = 0; i < 12; ++i) made.push_back({static_cast<float>(1 << i)});
    return made;
  }
  /// Sum of the samples but for those of these windows, counted from 0.
  static double without(std::vector<int> windows) {
    double sum = 4095;
    for (const int window : windows) sum -= 1 << window;
    return -sum;
  }
  ProbeModel model;
  TableDataset data;
  Bench bench;
};

/// Asks once to go back when window `at` (counted from 1) is judged.
auto back_once(std::int64_t at, std::int64_t windows) {
  return [at, windows, done = false](const UpdateProposal& proposal, Requests& requests) mutable {
    if (proposal.window != at || std::exchange(done, true)) return;
    requests.rollback("the test says so", windows, "spike");
  };
}

Error refusal() {
  return {ExitCode::kDiverged, std::string(base::kNotFinite), "memory", "element 0 of the weight 'w' is not a number"};
}

}  // namespace

TEST_CASE("a window that a hook is against leaves no trace but its place, and the schedule does not move") {
  Powers run;
  std::vector<UpdateProposal> heard;
  run.bench.hook.on_update = [&](const UpdateProposal& proposal, Requests& requests) {
    heard.push_back(proposal);
    if (proposal.window == 5) requests.skip_window("five is odd");
  };
  const auto outcome = run.bench.run();
  CHECK(run.model.value() == Powers::without({4}));
  CHECK(outcome.progress.update == 11);
  CHECK(outcome.progress.window == 12);
  CHECK(outcome.progress.skipped_windows == 1);
  REQUIRE(heard.size() == 12);
  CHECK(heard[4].update == 5);
  CHECK(heard[4].loss == run.bench.hook.windows[4].loss);
  CHECK(heard[5].update == 5);
  CHECK(heard[5].window == 6);
  CHECK(heard[4].grad_norm == 16);
  CHECK(heard[4].finite);
  CHECK_FALSE(run.bench.hook.windows[4].applied);
  CHECK(run.bench.notes.notes ==
        std::vector<std::string>{"window 5 was dropped: hook.probe judged against it: five is odd"});
}

TEST_CASE("a hook that stops the run at a window has it dropped: what is saved is the state before it") {
  Powers run;
  run.bench.hook.on_update = [](const UpdateProposal& proposal, Requests& requests) {
    if (proposal.window != 5) return;
    requests.save("diverged");
    requests.stop(ExitCode::kDiverged, "enough");
  };
  const auto outcome = run.bench.run();
  CHECK(outcome.code == ExitCode::kDiverged);
  CHECK(outcome.reason == "enough");
  CHECK(run.model.value() == -15);
  CHECK(run.bench.saver.saves.back()->request.reason == "diverged");
  CHECK(run.bench.saver.saves.back()->request.update == 4);
}

TEST_CASE("a rollback goes on without the windows it left out, from whichever checkpoint before them") {
  for (const std::int64_t save_every : {1, 2, 3, 5}) {
    Powers run(save_every);
    run.bench.hook.on_update = back_once(8, 2);
    const auto outcome = run.bench.run();
    CHECK(outcome.code == ExitCode::kOk);
    CHECK(run.model.value() == Powers::without({6, 7}));
    CHECK(outcome.progress.update == 10);
    CHECK(outcome.progress.window == 12);
    CHECK(outcome.progress.samples_seen == 12);
    CHECK(outcome.progress.skipped_windows == 2);
    CHECK((outcome.progress.left_out == std::vector<engine::LeftOut>{{6, 2}}));
    REQUIRE(run.bench.hook.rollbacks.size() == 1);
    const RollbackReport& told = run.bench.hook.rollbacks[0];
    CHECK(told.from_update == 7);
    CHECK(told.to_update == 6 / save_every * save_every);  // never one that holds window 7, counted from 1
    CHECK(told.first_window == 6);
    CHECK(told.windows == 2);
    CHECK(told.kind == "spike");
    CHECK(told.reason == "the test says so");
  }
}

TEST_CASE("after a rollback the state that it went back to is saved with the list of what is left out") {
  Powers run;
  run.bench.hook.on_update = back_once(8, 2);
  run.bench.run();
  std::vector<std::pair<std::int64_t, std::string>> saved;
  for (const auto& kept : run.bench.saver.saves) saved.emplace_back(kept->request.update, kept->request.reason);
  CHECK(saved == std::vector<std::pair<std::int64_t, std::string>>{
                     {3, "periodic"}, {6, "periodic"}, {6, "rollback"}, {9, "periodic"}, {10, "end"}});
  CHECK(run.bench.saver.saves[2]->view.progress_json.find("\"left_out\":[[6,2]]") != std::string::npos);
  CHECK(run.bench.saver.saves[1]->view.progress_json.find("left_out") == std::string::npos);
}

TEST_CASE("killed before or after a rollback and resumed: the progress of the uninterrupted run") {
  Powers whole;
  whole.bench.hook.on_update = back_once(8, 2);
  whole.bench.run();
  for (const std::size_t kill : {0U, 1U, 2U, 3U}) {
    Powers first, second;
    first.bench.hook.on_update = back_once(8, 2);
    first.bench.run();
    if (kill < 2) second.bench.hook.on_update = back_once(8, 2);  // deterministic hooks see the same again
    const base::StateView& saved = first.bench.saver.saves.at(kill)->view;
    second.bench.saver.save(saved, first.bench.saver.saves[kill]->request);  // what lies on the disk
    engine::Trainer trainer(second.bench.parts);
    trainer.restore(saved);
    trainer.run();
    CHECK(second.model.value() == whole.model.value());
    CHECK(second.bench.saver.last().progress_json == whole.bench.saver.last().progress_json);
  }
}

TEST_CASE("a rollback from the window's edge leaves out a window that was applied") {
  Powers run;
  const auto save = run.bench.hook.on_window;
  run.bench.hook.on_window = [&, done = false](const WindowReport& report, Requests& requests) mutable {
    save(report, requests);
    if (report.window == 7 && !std::exchange(done, true)) requests.rollback("late", 1);
  };
  run.bench.run();
  CHECK(run.model.value() == Powers::without({6}));
}

TEST_CASE("without a checkpoint from before the windows a rollback ends the run with 82 in words") {
  Powers run(100);
  run.bench.hook.on_update = back_once(8, 2);
  CHECK_THROWS_WITH_AS(run.bench.run(),
                       "update 7: error[run.rollback]: a rollback was asked for (the test says so), but no checkpoint "
                       "from before window "
                       "7 is there to go back to\n  hint: save more often ([hook.periodic_checkpoint]) or keep more "
                       "(checkpoint.keep), or "
                       "lower optimizer.lr",
                       Error);
}

TEST_CASE("a stop by another hook wins over a rollback") {
  Powers run;
  HookOf other;
  run.bench.parts.hooks.push_back({"hook.other", &other});
  run.bench.hook.on_update = back_once(8, 2);
  other.on_update = [](const UpdateProposal& proposal, Requests& requests) {
    if (proposal.window == 8) requests.stop(ExitCode::kDiverged, "no");
  };
  CHECK(run.bench.run().code == ExitCode::kDiverged);
  CHECK(run.bench.hook.rollbacks.empty());
}

TEST_CASE("a checkpoint on its way to the disk is waited for, and one from after the bad window is not taken") {
  struct InFlight : MemorySaver {
    bool in_background() const override { return true; }
    void begin(const std::function<base::StateView()>& snapshot, const Request& request) override {
      REQUIRE(!begun);
      begun = {snapshot(), request};
    }
    std::optional<Settled> settle(bool wait) override {
      if (!wait || !begun) return std::nullopt;
      const auto [view, request] = *std::exchange(begun, std::nullopt);
      return Settled{MemorySaver::save(view, request), {}};
    }
    std::optional<Found> newest(std::int64_t window, const std::function<void(const std::string&)>& told) override {
      CHECK_FALSE(begun);
      ++asked;
      return MemorySaver::newest(window, told);
    }
    std::optional<std::pair<base::StateView, Request>> begun;
    int asked = 0;
  };
  for (const std::int64_t at : {4, 5}) {  // the save of update 3 is in flight until somebody waits
    Powers run;
    InFlight saver;
    run.bench.parts.saver = &saver;
    run.bench.hook.on_update = back_once(at, 2);
    if (at == 4) {
      CHECK_THROWS_WITH_AS(run.bench.run(), doctest::Contains("no checkpoint from before window 3"), Error);
    } else {
      run.bench.run();
      CHECK(run.model.value() == Powers::without({3, 4}));
    }
    CHECK(saver.asked == 1);
  }
}

TEST_CASE("C57: a save of weights that are not finite is refused, told, not tried again, and ends the run with 82") {
  Powers run(4);
  int tries = 0;
  run.bench.saver.on_save = [&] {
    ++tries;
    throw refusal();
  };
  run.bench.parts.stop_on_save_error = true;  // it is about disks
  CHECK_THROWS_WITH_AS(run.bench.run(), doctest::Contains("error[checkpoint.nonfinite]: element 0 of the weight 'w'"),
                       Error);
  CHECK(tries == 3);  // at 4 and 8; at 12 for the end of the run, and no further one on the way out
  REQUIRE(run.bench.hook.saves.size() == 2);
  CHECK(run.bench.hook.saves[0].refused);
  CHECK_FALSE(run.bench.hook.saves[0].ok);
  CHECK(run.bench.hook.saves[0].fault == "element 0 of the weight 'w' is not a number");
  CHECK(
      run.bench.notes.notes.at(0) ==
      "the checkpoint of update 4 was refused, the older ones stay: memory: error[checkpoint.nonfinite]: element 0 of "
      "the weight 'w' is not a number");
}

TEST_CASE("C57: whatever its score, an evaluation of weights that are not finite is not the best") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(3, 1), eval = TableDataset::constant(1, 1);
  Bench bench(model, data);
  bench.parts.eval = &eval;
  bench.parts.settings.eval_every = {Interval::Unit::kUpdates, 1, {}};
  bench.parts.settings.best = {"quality", true};
  double score = 0;
  model.on_score = [&] { return score += 1; };  // each better than the one before
  bench.hook.on_window = [&](const WindowReport& report, Requests&) {
    if (report.update == 2) model.w.detach().fill_(kNan);
  };
  const auto outcome = bench.run();
  CHECK(outcome.progress.best_update == 1);
  CHECK(outcome.progress.best_metric == 1);
  CHECK(bench.notes.notes.at(0) ==
        "the evaluation at update 2 is not the best, whatever its score: a weight of the model is not finite");
}

TEST_CASE("the last save of a run is tried again for a while, one in the middle is not") {
  Powers run(6);
  run.bench.parts.last_save_patience = std::chrono::milliseconds(160);
  int failures = 4;
  run.bench.saver.on_save = [&] {
    if (run.bench.hook.windows.size() == 12 && failures-- > 0)
      throw Error(ExitCode::kIoError, "io.full", "/disk", "no space left");
  };
  CHECK(run.bench.run().code == ExitCode::kOk);
  CHECK(run.bench.saver.saves.back()->request.update == 12);
  CHECK(run.bench.notes.notes ==
        std::vector<std::string>{
            "the last checkpoint could not be written; it is tried again in 0.0 s: /disk: no space left",
            "the last checkpoint could not be written; it is tried again in 0.0 s: /disk: no space left",
            "the last checkpoint could not be written; it is tried again in 0.0 s: /disk: no space left",
            "the last checkpoint could not be written; it is tried again in 0.1 s: /disk: no space left"});
}

TEST_CASE("a last save that fails to the end of its time ends the run with the disk's error") {
  Powers run(100);
  run.bench.parts.last_save_patience = std::chrono::milliseconds(32);
  int tries = 0;
  run.bench.saver.on_save = [&] {
    ++tries;
    throw Error(ExitCode::kIoError, "io.full", "/disk", "no space left");
  };
  CHECK_THROWS_WITH_AS(run.bench.run(), "/disk: error[io.full]: no space left", Error);
  CHECK(tries == 6);  // waits of 2, 4, 8, 16 and what is left, 2 ms
}

TEST_CASE("a last save that no wait can mend is not tried again") {
  for (const Error& failure : {Error(ExitCode::kIoError, "io.too_big", "/disk", "ulimit"),
                               Error(ExitCode::kPermission, "io.permission", "/disk", "not yours"), refusal()}) {
    Powers hopeless(100);
    hopeless.bench.parts.last_save_patience = std::chrono::hours(1);
    hopeless.bench.saver.on_save = [&] { throw failure; };
    CHECK_THROWS_WITH_AS(hopeless.bench.run(), failure.what(), Error);
  }
}
