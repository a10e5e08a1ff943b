// The divergence guard in whole runs, interrupted and not; and what all hooks together leave in a checkpoint.
#include <doctest/doctest.h>

#include <limits>

#include "divergence_guard/divergence_guard.hpp"
#include "engine/fixtures.hpp"
#include "engine/reduced.hpp"
#include "fixtures/components.hpp"
#include "leak_detector/leak_detector.hpp"
#include "memory_guard/memory_guard.hpp"
#include "oom_checkpoint/oom_checkpoint.hpp"
#include "periodic_checkpoint/periodic_checkpoint.hpp"
#include "preemption_notice/preemption_notice.hpp"

using namespace holdfast;
using namespace holdfast::tests;
using holdfast::test::defaults;
using holdfast::test::Lender;

namespace {

/// 40 samples of 1, so that the loss of window n is -n + 1; some are something else.
struct GuardedRun {
  GuardedRun(const std::string& then, std::map<int, float> odd, std::int64_t budget = 3)
      : data(rows(std::move(odd))), bench(model, data) {
    Options options = defaults<plugins::DivergenceGuard>();
    options.set("then", then);
    options.set("warmup_updates", std::int64_t{10});
    options.set("budget", budget);
    guard = std::make_unique<plugins::DivergenceGuard>(options, lender.context("hook.divergence_guard"));
    bench.parts.hooks.push_back({"hook.divergence_guard", guard.get()});
    bench.hook.on_window = [](const WindowReport& report, Requests& requests) {
      if (report.applied && report.update % 7 == 0) requests.save("periodic");
    };
  }
  static TableDataset::Rows rows(const std::map<int, float>& odd) {
    TableDataset::Rows made(40, {1.0F});
    for (const auto& [window, value] : odd) made[static_cast<std::size_t>(window - 1)] = {value};
    return made;
  }
  Lender lender;
  ProbeModel model;
  TableDataset data;
  Bench bench;
  std::unique_ptr<plugins::DivergenceGuard> guard;
};

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const std::map<int, float> kTwoBad = {{20, -1000.0F}, {33, kNan}};

}  // namespace

TEST_CASE("then = skip: bad windows are left out and the rest of the run is that without them") {
  GuardedRun run("skip", kTwoBad);
  const auto outcome = run.bench.run();
  CHECK(outcome.code == ExitCode::kOk);
  CHECK(run.model.value() == -38);
  CHECK(outcome.progress.update == 38);
  CHECK(outcome.progress.skipped_windows == 2);
}

TEST_CASE("then = rollback: the bad window and the one that led there are left out") {
  GuardedRun run("rollback", kTwoBad);
  const auto outcome = run.bench.run();
  CHECK(outcome.code == ExitCode::kOk);
  CHECK(run.model.value() == -36);
  CHECK((outcome.progress.left_out == std::vector<engine::LeftOut>{{18, 2}, {31, 2}}));
  REQUIRE(run.bench.hook.rollbacks.size() == 2);
  CHECK(run.bench.hook.rollbacks[0].to_update == 14);
  CHECK(run.bench.hook.rollbacks[1].kind == "nonfinite");
}

TEST_CASE("then = stop: the run ends with 82 and the state before the bad window is saved") {
  GuardedRun run("stop", kTwoBad);
  const auto outcome = run.bench.run();
  CHECK(outcome.code == ExitCode::kDiverged);
  CHECK(outcome.reason.starts_with("divergence guard: update 20: the loss of window 20 is 19000, "));
  CHECK(run.model.value() == -19);
  CHECK(run.bench.saver.saves.back()->request.update == 19);
}

TEST_CASE("the budget ends a run that keeps diverging") {
  std::map<int, float> odd;
  for (int window = 20; window <= 40; window += 4) odd[window] = kNan;
  for (const char* then : {"skip", "rollback"}) {
    GuardedRun run(then, odd, 2);
    const auto outcome = run.bench.run();
    CHECK(outcome.code == ExitCode::kDiverged);
    CHECK(outcome.reason.find("and the budget of 2 interventions in a run is used up") != std::string::npos);
    CHECK(outcome.progress.window == 28);
  }
}

TEST_CASE("without the hook a window that is not finite is dropped and the run goes on") {
  GuardedRun run("stop", kTwoBad);
  run.bench.parts.hooks.pop_back();
  const auto outcome = run.bench.run();
  CHECK(outcome.code == ExitCode::kOk);
  CHECK(outcome.progress.skipped_windows == 1);
}

TEST_CASE("windows that the loss scale drops are no divergence, spikes under it are") {
  GuardedRun run("stop", {{20, -1000.0F}});
  Reduced fp16(Precision::kFloat16, 0, scaling(1024));
  Overflow overflow(run.model, {3, 11, 12, 15});
  run.bench.parts.strategies = {{"strategy.amp", &fp16}, {"strategy.overflow", &overflow}};
  const auto outcome = run.bench.run();
  CHECK(outcome.progress.skipped_windows == 5);  // those four, and the spike
  CHECK(outcome.code == ExitCode::kDiverged);
  CHECK(outcome.progress.window == 20);
  CHECK(outcome.reason.starts_with("divergence guard: update 16: the loss of window 20 is "));
}

TEST_CASE("killed after any of its saves and resumed, a guarded run ends in the state of the uninterrupted one") {
  for (const char* then : {"skip", "rollback"}) {
    GuardedRun whole(then, kTwoBad);
    whole.bench.run();
    const auto& saves = whole.bench.saver.saves;
    REQUIRE(saves.size() >= 6);
    for (std::size_t kill = 0; kill + 1 < saves.size(); ++kill) {
      GuardedRun resumed(then, kTwoBad);
      for (std::size_t i = 0; i <= kill; ++i) resumed.bench.saver.save(saves[i]->view, saves[i]->request);
      engine::Trainer trainer(resumed.bench.parts);
      trainer.restore(saves[kill]->view);
      trainer.run();
      CHECK(resumed.model.value() == whole.model.value());
      CHECK(resumed.bench.saver.last().progress_json == whole.bench.saver.last().progress_json);
    }
  }
}

TEST_CASE("C85: with all hooks on, twenty times saved and resumed, neither state nor checkpoint grows") {
  const BlobDataset data(4096);
  std::unique_ptr<MemorySaver::Kept> saved;
  std::vector<std::size_t> entries, bytes, texts, extras;
  for (int cycle = 1; cycle <= 20; ++cycle) {
    Lender lender;
    SmallMlp model;
    Bench bench(model, data);
    bench.parts.settings.epochs.reset();
    bench.parts.settings.updates = 10000;
    bench.parts.settings.batch_size = 16;
    bench.parts.settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
    bench.parts.settings.optimizer.lr = 1e-3;
    bench.hook.on_window = [cycle](const WindowReport& report, Requests& requests) {
      if (report.update == 120 * cycle) requests.stop(ExitCode::kStoppedAfterSave, "for now");
    };
    std::vector<std::unique_ptr<Hook>> hooks;
    const auto add = [&]<class H>(const char* table, Options options, H*) {
      hooks.push_back(std::make_unique<H>(options, lender.context(table)));
      bench.parts.hooks.push_back({table, hooks.back().get()});
    };
    Options notice = defaults<plugins::PreemptionNotice>();
    notice.set("file", std::string("/nonexistent/notice"));
    Options guard = defaults<plugins::DivergenceGuard>();
    guard.set("threshold", 1e9);  // the losses of this little training jump
    add("hook.divergence_guard", guard, static_cast<plugins::DivergenceGuard*>(nullptr));
    add("hook.leak_detector", defaults<plugins::LeakDetector>(), static_cast<plugins::LeakDetector*>(nullptr));
    add("hook.memory_guard", defaults<plugins::MemoryGuard>(), static_cast<plugins::MemoryGuard*>(nullptr));
    add("hook.oom_checkpoint", defaults<plugins::OomCheckpoint>(), static_cast<plugins::OomCheckpoint*>(nullptr));
    add("hook.periodic_checkpoint", defaults<plugins::PeriodicCheckpoint>(),
        static_cast<plugins::PeriodicCheckpoint*>(nullptr));
    add("hook.preemption_notice", notice, static_cast<plugins::PreemptionNotice*>(nullptr));
    engine::Trainer trainer(bench.parts);
    if (saved) trainer.restore(saved->view);
    CHECK(trainer.run().progress.update == 120 * cycle);
    saved = std::move(bench.saver.saves.back());
    entries.push_back(saved->view.model.size() + saved->view.optimizer.size());
    std::size_t size = 0;
    for (const auto& kept : saved->bytes) size += kept.size();
    bytes.push_back(size);
    texts.push_back(saved->view.progress_json.size());
    extras.push_back(saved->view.extra_json.size() + saved->view.identity_json.size());
  }
  CHECK(std::ranges::count(entries, entries.front()) == 20);
  CHECK(std::ranges::count(bytes, bytes.front()) == 20);
  CHECK(std::ranges::count(extras, extras.front()) == 20);
  // A hundred losses of up to 20 digits, and counters: their digits vary, their number does not.
  for (const std::size_t size : texts) CHECK(size < texts.front() + 500);
}
