// An attempt is a transaction: memory that runs out once, anywhere, leaves no trace in the result.
#include <doctest/doctest.h>

#include "engine/fixtures.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

[[noreturn]] void run_out() {
  throw c10::OutOfMemoryError({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, "tried to allocate 9 GiB");
}

/// Throws when the n-th phase of its kind begins.
struct FaultyPhase : Strategy {
  FaultyPhase(Phase p, int n) : phase(p), left(n) {}
  unsigned phases() const override { return phase_bit(phase); }
  std::unique_ptr<Scope> enter(const PhaseInfo&) override {
    if (--left == 0) run_out();
    return nullptr;
  }
  Phase phase;
  int left;
};

struct Result {
  at::Tensor state;
  engine::Outcome outcome;
  std::vector<OomReport> ooms;
};

/// Six updates of 2 x 4 samples with dropout; `fault` prepares the failure.
Result train(const std::function<void(SmallMlp&, Bench&)>& fault, std::vector<std::string> ladder = {"retry"}) {
  SmallMlp model(0.3);
  const BlobDataset data(48);
  Bench bench(model, data);
  bench.micro(4);
  bench.parts.settings.batch_size = 8;
  bench.parts.settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
  bench.parts.on_oom = std::move(ladder);
  fault(model, bench);
  Result result;
  result.outcome = bench.run();
  result.state = model.flat();
  result.ooms = bench.hook.ooms;
  return result;
}

}  // namespace

TEST_CASE("one failure in any forward, backward or update gives the bits of the undisturbed run") {
  const at::Tensor undisturbed = train([](SmallMlp&, Bench&) {}).state;
  for (const int n : {1, 2, 7, 8}) {
    const auto expect = [&](const Result& result, const std::string& phase) {
      CHECK(at::equal(result.state, undisturbed));
      REQUIRE(result.ooms.size() == 1);
      CHECK(result.ooms[0].phase == phase);
      CHECK(result.ooms[0].update == (phase == "update" ? std::min(n, 6) : (n + 1) / 2));
      CHECK(result.ooms[0].text == "tried to allocate 9 GiB");
      CHECK(result.ooms[0].action == "caches emptied, the same plan is tried again");
      CHECK(result.outcome.progress.oom_retries == 1);
    };
    expect(train([n](SmallMlp& model, Bench&) {
             model.on_forward = [left = n]() mutable {
               if (--left == 0) run_out();
             };
           }),
           "forward");
    expect(train([n](SmallMlp& model, Bench&) {
             model.on_backward = [left = n]() mutable {
               if (--left == 0) run_out();
             };
           }),
           "backward");
    FaultyPhase update(Phase::kUpdate, std::min(n, 6));
    expect(train([&](SmallMlp&, Bench& bench) { bench.parts.strategies.push_back({"strategy.fault", &update}); }),
           "update");
  }
}

TEST_CASE("when the ladder is exhausted, the state of before the window is saved and the exit code is 81") {
  SmallMlp model;
  const BlobDataset data(48);
  Bench bench(model, data);
  bench.parts.settings.batch_size = 8;
  bench.parts.on_oom = {"retry", "save"};
  at::Tensor before;
  int windows = 0;
  bench.hook.on_window = [&](const WindowReport&, Requests&) {
    ++windows;
    before = model.flat();
  };
  model.on_forward = [&] {
    if (windows == 3) run_out();
  };
  CHECK_THROWS_WITH_AS(bench.run(),
                       "forward of update 4, micro-batch 0: error[memory.device]: tried to allocate 9 GiB\n"
                       "  hint: use smaller micro-batches ([strategy.accumulate]) or a bigger device",
                       Error);
  CHECK(at::equal(model.flat(), before));
  REQUIRE(bench.saver.saves.size() == 1);
  CHECK(bench.saver.saves[0]->request.update == 3);
  CHECK(bench.saver.saves[0]->request.reason == "oom");
  CHECK(bench.saver.saves[0]->request.suffix == "-oom");
  CHECK(bench.hook.ended == std::vector<int>{static_cast<int>(ExitCode::kDeviceOutOfMemory)});
  REQUIRE(bench.hook.ooms.size() == 2);
  CHECK(bench.hook.ooms[1].action == "nothing left to try: the run ends with exit code 81");
}

TEST_CASE("host memory that runs out is exit code 88, not a device failure") {
  SmallMlp model;
  const BlobDataset data(8);
  Bench bench(model, data);
  model.on_forward = [] { throw std::bad_alloc(); };
  CHECK_THROWS_WITH_AS(bench.run(),
                       "forward of update 1, micro-batch 0: error[memory.host]: the host has no memory left\n  hint: "
                       "lower loader.prefetch or train.batch_size, or use a machine with more memory",
                       Error);
}

TEST_CASE("an unknown rung is refused with the known ones") {
  SmallMlp model;
  const BlobDataset data(8);
  Bench bench(model, data);
  bench.parts.on_oom = {"pray"};
  CHECK_THROWS_WITH_AS(
      engine::Trainer(bench.parts),
      "memory.on_oom: error[memory.unknown_rung]: no rung is named 'pray'; this release has: retry, halve_micro_batch, "
      "recompute, offload_activations, offload_optimizer, save",
      Error);
}

TEST_CASE("a window whose loss or gradient is not finite leaves no trace, buffers included") {
  for (const bool by_gradient : {true, false}) {
    SmallMlp model;
    const BlobDataset data(24);
    Bench bench(model, data);
    bench.parts.settings.batch_size = 8;
    struct Poison : Strategy {
      bool transforms_loss() const override { return true; }
      at::Tensor transform_loss(at::Tensor loss, const PhaseInfo& at) override {
        if (at.update != 2 || done) return loss;
        done = true;
        if (gradient) loss.register_hook([](const at::Tensor& g) { return g * INFINITY; });
        return gradient ? loss * 1 : loss + INFINITY;
      }
      bool gradient = false, done = false;
    } poison;
    poison.gradient = by_gradient;
    bench.parts.strategies = {{"strategy.poison", &poison}};
    std::vector<at::Tensor> states;
    bench.hook.on_window = [&](const WindowReport&, Requests&) { states.push_back(model.flat()); };
    const auto outcome = bench.run();
    CHECK(at::equal(states[0], states[1]));
    CHECK_FALSE(at::equal(states[1], states[2]));
    CHECK(outcome.progress.skipped_windows == 1);
    CHECK(outcome.progress.update == 2);
    CHECK(bench.notes.notes == std::vector<std::string>{"window 2 was dropped: its loss or a gradient is not finite"});
  }
}
