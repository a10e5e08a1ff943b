// The rungs under real budgets: what each gains is enough, costs no bit where it promises so, and stays.
#include <doctest/doctest.h>

#include <set>

#include "device/allocator.hpp"
#include "device/domain_pool.hpp"
#include "engine/chain.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

device::Pool& pool() {
  device::install_allocator();
  return device::pool_of(device::Domain::kDevice);
}

/// While it lives, the device has so many bytes more than what is allocated now.
struct Budget {
  explicit Budget(double more) { pool().set_budget(pool().reading().allocated + static_cast<std::int64_t>(more)); }
  ~Budget() { pool().set_budget(0); }
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;
};

/// Eight blocks with dropout of unlike sizes: the wide ones save three times as much.
ChainModel::Body blocks(ChainModel& model) {
  std::vector<at::Tensor> w;
  for (int i = 0; i < 8; ++i) w.push_back(model.add("w" + std::to_string(i), {6, 6}));
  return [w](const at::Tensor& in, Segments& segments) {
    at::Tensor x = in;
    for (std::size_t i = 0; i < w.size(); ++i)
      x = segments.run(
          "block." + std::to_string(i),
          [weight = w[i], wide = i % 3 == 1](const at::Tensor& h) {
            at::Tensor y = at::linear(h, weight);
            if (wide) y = at::dropout(y.repeat({1, 3}), 0.2, true).sin().view({-1, 3, 6}).sum(1);
            return at::dropout(at::tanh(y), 0.3, true);
          },
          x);
    return x;
  };
}

/// Five updates of one micro-batch of 24 samples, AdamW.
struct Run : ChainRun {
  explicit Run(std::vector<std::string> rungs, std::vector<std::string> recompute = {})
      : ChainRun(blocks, std::move(recompute), 24) {
    auto& settings = bench.parts.settings;
    settings.batch_size = 24;
    settings.epochs = 5;
    settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
    bench.parts.on_oom = std::move(rungs);
  }
  /// The weights after a run within `share` of what the plain one needed at most, beside what is there before.
  at::Tensor within(double share, std::int64_t needed) {
    const Budget budget(share * static_cast<double>(needed));
    engine::Trainer trainer(bench.parts);
    outcome = trainer.run();
    plan = trainer.step_plan();
    return model.flat();
  }
  std::vector<std::string> rungs() const {
    std::vector<std::string> names;
    for (const auto& report : bench.hook.ooms) names.push_back(report.rung);
    return names;
  }
  engine::Outcome outcome;
  StepPlan plan;
};

struct Plain {
  at::Tensor state;
  std::int64_t needed;  ///< at most, beside what was there before
};
Plain plain() {
  Run run({"save"});
  const std::int64_t before = pool().reading().allocated, outer = pool().open_peak();
  const at::Tensor state = run.state();
  return {state, pool().close_peak(outer) - before};
}

}  // namespace

TEST_CASE("recomputing more and more segments fits ever smaller budgets, with the bits of the plain run") {
  const Plain free = plain();
  std::size_t rungs = 0;
  for (const double share : {0.95, 0.8, 0.7, 0.6}) {
    CAPTURE(share);
    Run run({"recompute", "save"});
    CHECK(at::equal(run.within(share, free.needed), free.state));
    CHECK(run.outcome.progress.update == 5);
    CHECK(run.plan.recompute.owner == "memory.on_oom");
    REQUIRE(run.rungs().size() >= std::max<std::size_t>(rungs, 1));
    rungs = run.rungs().size();
    CHECK(run.rungs() == std::vector<std::string>(rungs, "recompute"));
    CHECK(run.outcome.progress.oom_retries == static_cast<std::int64_t>(rungs));
    CHECK(run.bench.notes.plans.size() == rungs);
  }
  CHECK(rungs > 1);
}

TEST_CASE("offloaded activations fit where recomputing is not allowed, with the bits of the plain run") {
  const Plain free = plain();
  Run run({"offload_activations", "save"});
  CHECK(at::equal(run.within(0.6, free.needed), free.state));
  CHECK(run.rungs() == std::vector<std::string>{"offload_activations"});
  CHECK(run.bench.hook.ooms[0].action == "activations go to the host: offload none -> *");
}

TEST_CASE("the rungs that keep the micro-batch climb on where one is not enough; a resumed run has what they chose") {
  const Plain free = plain();
  const std::vector<std::string> keeping = {"retry", "recompute", "offload_activations", "offload_optimizer", "save"};
  Run run(keeping);
  CHECK(at::equal(run.within(0.42, free.needed), free.state));
  CHECK(run.plan.micro_batch_size.owner != "memory.on_oom");
  CHECK(run.rungs()[0] == "retry");
  CHECK(run.plan.offload.owner == "memory.on_oom");

  Run later(keeping);
  later.bench.parts.settings.epochs = 6;
  // Its first window compares each recomputed segment with its first run, once more.
  const Budget budget(0.55 * static_cast<double>(free.needed));
  engine::Trainer trainer(later.bench.parts);
  trainer.restore(run.bench.saver.last());
  CHECK(trainer.step_plan().recompute.value == run.plan.recompute.value);
  CHECK(trainer.step_plan().offload.value == run.plan.offload.value);
  CHECK(trainer.step_plan().optimizer_placement.value == run.plan.optimizer_placement.value);
  trainer.run();
  CHECK(later.bench.hook.ooms.empty());
}

TEST_CASE("what the recipe recomputes stays chosen when the ladder adds to it") {
  const Plain free = plain();
  Run run({"recompute", "save"}, {"block.0"});
  CHECK(at::equal(run.within(0.75, free.needed), free.state));
  REQUIRE(run.plan.recompute.value.size() == 2);
  CHECK(run.plan.recompute.value[0] == "block.0");
}

TEST_CASE("a budget without room for the moments moves them before the first window, where the ladder may") {
  Run run({"retry", "offload_optimizer", "save"});
  engine::Trainer trainer(run.bench.parts);
  {
    const Budget budget(100);
    CHECK(trainer.state().optimizer.size() == 24);
  }
  CHECK(trainer.step_plan().optimizer_placement.value == Placement::kHost);
  REQUIRE(run.bench.notes.notes.size() == 1);
  CHECK(run.bench.notes.notes[0].starts_with("device memory: wanted "));
  CHECK(run.bench.notes.notes[0].ends_with(
      ": the optimizer's state goes to the host: optimizer_placement device -> host"));
  CHECK(run.bench.notes.plans ==
        std::vector<std::string>{"update 0: optimizer_placement device -> host by memory.on_oom"});

  Run bound({"retry", "save"});
  engine::Trainer stuck(bound.bench.parts);
  const Budget budget(100);
  CHECK_THROWS(stuck.state());
}

namespace {

/// Two updates of two micro-batches. In the second window as many attempts are lost as told, each at its n-th
/// allocation on the device.
struct Lost : Run {
  Lost(std::int64_t n, std::size_t losses)
      : Run({"retry", "recompute", "offload_activations", "offload_optimizer", "save"}) {
    bench.micro(12);
    bench.parts.settings.epochs = 2;
    bench.hook.on_window = [this, n, losses](const WindowReport& report, Requests&) {
      if (report.update == 1) before = pool().reading().allocated;
      pool().refuse_after(report.update == 1 && losses > 0 ? n : 0);
    };
    bench.hook.on_out_of_memory = [this, n, losses](Requests&) {
      after.push_back(pool().reading().allocated);
      phases.insert(bench.hook.ooms.back().phase + std::to_string(bench.hook.ooms.back().micro_batch));
      const bool last = bench.hook.ooms.back().rung == "offload_optimizer";  // nothing follows but the end
      if (bench.hook.ooms.size() < losses && !last) pool().refuse_after(n);
    };
    engine::Trainer trainer(bench.parts);
    outcome = trainer.run();
    plan = trainer.step_plan();
    pool().refuse_after(0);
  }
  std::int64_t before = 0;          ///< allocated when the window begins
  std::vector<std::int64_t> after;  ///< and after each lost attempt
  std::set<std::string> phases;
};

}  // namespace

TEST_CASE("attempts lost at any allocation climb as many rungs, give back all memory and cost no bit, on every rung") {
  const at::Tensor undisturbed = Lost(0, 0).model.flat();
  constexpr std::int64_t kMoments = 8 * (2 * 6 * 6 + 1) * 4;
  std::set<std::string> phases, rungs;
  for (const std::size_t losses : {1U, 2U, 3U, 5U, 7U})
    for (std::int64_t n = 1;; ++n) {
      Lost run(n, losses);
      if (run.after.empty()) break;
      CAPTURE(n);
      CAPTURE(losses);
      REQUIRE(run.after.size() <= losses);
      REQUIRE(at::equal(run.model.flat(), undisturbed));
      REQUIRE(run.outcome.progress.oom_retries == static_cast<std::int64_t>(run.after.size()));
      REQUIRE(run.outcome.progress.update == 2);
      const std::int64_t moved = run.plan.optimizer_placement.value == Placement::kHost ? kMoments : 0;
      for (const std::int64_t bytes : run.after) REQUIRE((bytes == run.before || bytes == run.before - moved));
      for (const auto& name : run.rungs()) rungs.insert(name);
      phases.merge(run.phases);
    }
  CHECK(rungs == std::set<std::string>{"offload_activations", "offload_optimizer", "recompute", "retry"});
  for (const char* place : {"forward0", "forward1", "backward0", "backward1"}) {
    CAPTURE(place);
    CHECK(phases.contains(place));
  }
}
