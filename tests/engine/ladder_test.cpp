// The ladder: which rung comes when, what it does to the plan, and what of that a checkpoint carries on.
#include "engine/ladder.hpp"

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "device/allocator.hpp"
#include "device/domain_pool.hpp"
#include "engine/fixtures.hpp"
#include "engine/plan_change.hpp"

using namespace holdfast;
using namespace holdfast::tests;
using engine::Ladder;
using engine::Room;

namespace {

const std::vector<std::string> kAll = {
    "retry", "halve_micro_batch", "recompute", "offload_activations", "offload_optimizer", "save"};

[[noreturn]] void run_out() {
  throw c10::OutOfMemoryError({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, "tried to allocate 9 GiB");
}

std::vector<std::string> climbed(Ladder& ladder, StepPlan& plan, const Room& room) {
  std::vector<std::string> names;
  while (true) {
    const auto& rung = ladder.climb(plan, room);
    names.emplace_back(rung.name);
    if (!rung.climb) return names;
  }
}

/// Runs out of memory while a training forward sees more than `most` samples of the window.
struct Cramped {
  explicit Cramped(std::int64_t most, std::int64_t batch = 8)
      : data(TableDataset::constant(40, 1)), bench(model, data) {
    bench.parts.settings.batch_size = batch;
    bench.parts.settings.optimizer.lr = 0.25;
    bench.parts.on_oom = {"retry", "halve_micro_batch", "save"};
    model.on_forward = [this, most](int) {
      auto& used = model.training ? model.seen : model.evaluated;
      auto& before = model.training ? seen : evaluated;
      const auto rows = static_cast<std::int64_t>(used.size()) - before;
      before += rows;
      if (model.training) sizes.push_back(rows);
      if (rows > (model.training ? most : eval_most)) run_out();
    };
  }
  ProbeModel model;
  TableDataset data;
  Bench bench;
  std::int64_t seen = 0, evaluated = 0, eval_most = 1000;
  std::vector<std::int64_t> sizes;  ///< samples of each training forward
};

std::vector<std::string> rungs_of(const Bench& bench) {
  std::vector<std::string> names;
  for (const auto& report : bench.hook.ooms) names.push_back(report.rung);
  return names;
}

}  // namespace

TEST_CASE("rungs are climbed in their order, halving until one sample is left, those without gain left out") {
  Ladder ladder(kAll);
  StepPlan plan;
  CHECK(climbed(ladder, plan, {10, true, 1}) ==
        std::vector<std::string>{"retry", "halve_micro_batch", "halve_micro_batch", "halve_micro_batch",
                                 "halve_micro_batch", "recompute", "offload_activations", "offload_optimizer", "save"});
  CHECK(plan.micro_batch_size.value == 1);
  CHECK(plan.micro_batch_size.owner == "memory.on_oom");
  CHECK(plan.recompute.value == std::vector<std::string>{"*"});
  CHECK(plan.offload.value == std::vector<std::string>{"*"});
  CHECK(plan.optimizer_placement.value == Placement::kHost);
  ladder.begin_window();
  CHECK(climbed(ladder, plan, {10, true, 1}) == std::vector<std::string>{"retry", "save"});

  Ladder other({"recompute", "halve_micro_batch"});
  StepPlan plain;
  CHECK(climbed(other, plain, {2, false}) == std::vector<std::string>{"halve_micro_batch", "save"});
}

TEST_CASE("recomputing takes a quarter of the segments more each time, the largest first, beside those of the recipe") {
  using Patterns = std::vector<std::string>;
  const auto steps = [](Patterns chosen, Room room) {
    Ladder ladder({"recompute"});
    StepPlan plan;
    plan.recompute = {std::move(chosen), "strategy.activation_checkpointing"};
    std::string text;
    while (ladder.climb(plan, room).climb) text += (text.empty() ? "" : " > ") + base::join(plan.recompute.value, " ");
    return text;
  };
  CHECK(steps({}, {4, true, 8}) == "largest:2 > largest:4 > largest:6 > *");
  CHECK(steps({}, {4, true, 3}) == "largest:1 > largest:2 > *");
  CHECK(steps({"largest:5", "block.0"}, {4, true, 8}) == "block.0 largest:7 > block.0 *");
  CHECK(steps({"block.0", "all"}, {4, true, 8}).empty());
  CHECK(steps({}, {4, true, 0}) == "largest:1");  // its first forward recomputes all, and did not end either
  CHECK(steps({"largest:2"}, {4, true, 0}).empty());
}

TEST_CASE("halving starts from what the window holds, and rounds up so that micro-batches stay even") {
  Ladder ladder({"halve_micro_batch"});
  StepPlan plan;
  plan.micro_batch_size.value = 64;
  ladder.climb(plan, {10, false});
  CHECK(plan.micro_batch_size.value == 5);
  ladder.climb(plan, {10, false});
  CHECK(plan.micro_batch_size.value == 3);
}

TEST_CASE("an evaluation's ladder has only the rungs that mean something without gradients") {
  Ladder ladder(kAll, Ladder::For::kEvaluation);
  StepPlan plan;
  CHECK(climbed(ladder, plan, {2, true}) == std::vector<std::string>{"retry", "halve_micro_batch", "save"});
}

TEST_CASE("asked for before memory runs out, the ladder gives the first rung that changes the plan") {
  const Ladder ladder({"retry", "halve_micro_batch", "offload_optimizer"});
  StepPlan plan;
  const Room room{2, false};
  CHECK(ladder.escalate(plan, room)->name == "halve_micro_batch");
  CHECK(ladder.escalate(plan, room)->name == "offload_optimizer");
  CHECK(ladder.escalate(plan, room) == nullptr);
}

TEST_CASE("edits of a plan survive as JSON, unless the recipe chose anew or the text is none of ours") {
  StepPlan composed, plan;
  plan.micro_batch_size = {4, engine::kLadder};
  plan.recompute = {{"*"}, engine::kLadder};
  const std::string saved = engine::plan_edits_json(composed, plan);
  StepPlan taken;
  CHECK(engine::apply_plan_edits(saved, taken, 16) ==
        std::vector<std::string>{"micro_batch_size is 4, which memory.on_oom had made of 16",
                                 "recompute is *, which memory.on_oom had made of none"});
  CHECK(taken.micro_batch_size.value == 4);
  CHECK(taken.recompute.owner == "memory.on_oom");
  CHECK(engine::plan_edits_json(composed, taken) == saved);
  CHECK(engine::plan_edits_json(composed, composed) == "{}");

  StepPlan chosen;
  chosen.micro_batch_size = {8, "strategy.accumulate"};
  CHECK(engine::apply_plan_edits(saved, chosen, 16).at(0) ==
        "micro_batch_size is 8 (the recipe wins) and not 4, which memory.on_oom had made of the saved run's");
  CHECK(chosen.micro_batch_size.value == 8);

  for (const char* broken :
       {"", "[]", "{\"micro_batch_size\":7}", R"({"micro_batch_size":{"to":0,"from":0,"from_owner":"default"}})",
        R"({"micro_batch_size":{"to":17,"from":0,"from_owner":"default"}})",
        R"({"micro_batch_size":{"to":"4","from":0,"from_owner":"default"}})",
        R"({"recompute":{"to":[1],"from":[],"from_owner":"default"}})",
        R"({"recompute":{"to":["largest:0"],"from":[],"from_owner":"default"}})",
        R"({"optimizer_placement":{"to":"moon","from":"device","from_owner":"default"}})", R"({"future":{"to":1}})"}) {
    StepPlan untouched;
    CHECK(engine::apply_plan_edits(broken, untouched, 16).empty());
    CHECK(engine::plan_changes(composed, untouched, 16).empty());
  }
}

TEST_CASE("C83: where eight samples do not fit and four do, training goes on with four, on the same samples") {
  Cramped free(1000), cramped(4);
  free.bench.run();
  const auto outcome = cramped.bench.run();
  CHECK(outcome.progress.update == 5);
  CHECK(cramped.model.value() == free.model.value());  // sums of small whole numbers: exact in any order
  CHECK(rungs_of(cramped.bench) == std::vector<std::string>{"retry", "halve_micro_batch"});
  CHECK(outcome.progress.oom_retries == 2);
  CHECK(cramped.sizes == std::vector<std::int64_t>{8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4});
  CHECK(cramped.bench.hook.ooms[1].action == "the micro-batch is halved: micro_batch_size 8 -> 4");
  CHECK(cramped.bench.notes.plans == std::vector<std::string>{"update 1: micro_batch_size 8 -> 4 by memory.on_oom"});
}

TEST_CASE("a resumed run keeps the smaller plan; a strategy that the recipe changed wins") {
  Cramped first(2);
  first.bench.parts.settings.epochs.reset();
  first.bench.parts.settings.updates = 2;
  first.bench.run();
  CHECK(rungs_of(first.bench) == std::vector<std::string>{"retry", "halve_micro_batch", "halve_micro_batch"});

  Cramped second(2);
  second.bench.parts.settings.epochs.reset();
  second.bench.parts.settings.updates = 4;
  engine::Trainer trainer(second.bench.parts);
  trainer.check(first.bench.saver.last(), "checkpoint");
  CHECK(trainer.step_plan().micro_batch_size.value == 0);
  trainer.restore(first.bench.saver.last());
  CHECK(trainer.step_plan().micro_batch_size.value == 2);
  CHECK(second.bench.notes.notes.at(0) == "resume: micro_batch_size is 2, which memory.on_oom had made of 8");
  trainer.run();
  CHECK(second.bench.hook.ooms.empty());
  CHECK(second.sizes == std::vector<std::int64_t>(8, 2));
  Cramped whole(1000);
  whole.bench.parts.settings.epochs.reset();
  whole.bench.parts.settings.updates = 4;
  whole.bench.run();
  CHECK(second.model.value() == whole.model.value());
  CHECK(second.bench.saver.last().progress_json == whole.bench.saver.last().progress_json);  // what the digest covers

  Cramped third(1000);
  third.bench.micro(8);
  engine::Trainer changed(third.bench.parts);
  changed.restore(first.bench.saver.last());
  CHECK(changed.step_plan().micro_batch_size.value == 8);
  CHECK(third.bench.notes.notes.at(0) ==
        "resume: micro_batch_size is 8 (the recipe wins) and not 2, which memory.on_oom had made of the saved run's");
}

TEST_CASE("a rung that moves the optimizer's state moves it, keeps the bits, and a resumed run has it there at once") {
  const auto prepare = [](SmallMlp& model, Bench& bench, bool cramped) {
    bench.parts.settings.batch_size = 8;
    bench.parts.settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
    bench.parts.on_oom = {"offload_optimizer"};
    if (cramped)
      model.on_forward = [n = 0]() mutable {
        if (++n == 2) run_out();
      };
  };
  const BlobDataset data(24);
  SmallMlp free(0.3), cramped(0.3), resumed(0.3);
  Bench free_bench(free, data), bench(cramped, data), later(resumed, data);
  prepare(free, free_bench, false);
  prepare(cramped, bench, true);
  prepare(resumed, later, false);
  free_bench.run();
  device::install_allocator();
  const std::int64_t host = device::pool_of(device::Domain::kHost).reading().allocated;
  engine::Trainer trainer(bench.parts);
  trainer.run();
  CHECK(at::equal(free.flat(), cramped.flat()));
  CHECK(trainer.step_plan().optimizer_placement.value == Placement::kHost);
  CHECK(bench.notes.plans == std::vector<std::string>{"update 2: optimizer_placement device -> host by memory.on_oom"});
  CHECK(device::pool_of(device::Domain::kHost).reading().allocated - host >= 2 * 4 * (16 * 12 + 16 + 3 * 16));

  engine::Trainer again(later.parts);
  again.restore(bench.saver.last());
  CHECK(again.step_plan().optimizer_placement.value == Placement::kHost);
  CHECK(later.notes.notes.at(0) == "resume: optimizer_placement is host, which memory.on_oom had made of device");
}

TEST_CASE("where the host has no room for the optimizer's state, the rung is passed over and nothing has moved") {
  SmallMlp model;
  const BlobDataset data(24);
  Bench bench(model, data);
  bench.parts.settings.batch_size = 8;
  bench.parts.settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
  bench.parts.on_oom = {"offload_optimizer", "halve_micro_batch"};
  device::install_allocator();
  device::Pool& host = device::pool_of(device::Domain::kHost);
  model.on_forward = [&, n = 0]() mutable {
    if (++n != 2) return;
    host.set_budget(host.reading().allocated + 100);
    run_out();
  };
  bench.hook.on_out_of_memory = [&](Requests&) { host.set_budget(0); };
  engine::Trainer trainer(bench.parts);
  trainer.run();
  CHECK(trainer.step_plan().optimizer_placement.value == Placement::kDevice);
  CHECK(trainer.step_plan().micro_batch_size.value == 4);
  CHECK(rungs_of(bench) == std::vector<std::string>{"halve_micro_batch"});
  REQUIRE(!bench.notes.notes.empty());
  CHECK(bench.notes.notes[0].starts_with("the optimizer's state cannot be moved: host memory: wanted "));
}

TEST_CASE("C82: an evaluation that runs out of memory shrinks its own batch, and training keeps its own") {
  const auto with_eval = [](Cramped& run) {
    run.bench.parts.eval = &run.data;
    run.bench.parts.settings.eval_batch_size = 16;
    run.bench.parts.settings.eval_every = {Interval::Unit::kUpdates, 2, {}};
  };
  Cramped free(1000), cramped(1000);
  with_eval(free);
  with_eval(cramped);
  cramped.eval_most = 4;
  const auto expected = free.bench.run();
  engine::Trainer trainer(cramped.bench.parts);
  const auto outcome = trainer.run();
  CHECK(outcome.last_eval == expected.last_eval);
  CHECK(outcome.progress.update == 5);
  CHECK(cramped.sizes == free.sizes);
  CHECK(trainer.step_plan().micro_batch_size.owner == "default");
  CHECK(rungs_of(cramped.bench) == std::vector<std::string>{"retry", "halve_micro_batch", "halve_micro_batch"});
  CHECK(cramped.bench.hook.ooms[0].phase == "eval");
  CHECK(cramped.bench.notes.plans == std::vector<std::string>{"update 2: eval_batch_size 16 -> 8 by memory.on_oom",
                                                              "update 2: eval_batch_size 8 -> 4 by memory.on_oom"});

  Cramped resumed(1000);  // and a resumed run evaluates as the first one did in the end
  with_eval(resumed);
  resumed.eval_most = 4;
  resumed.bench.parts.settings.epochs = 2;
  engine::Trainer again(resumed.bench.parts);
  again.restore(cramped.bench.saver.last());
  again.run();
  CHECK(resumed.bench.hook.ooms.empty());
}

TEST_CASE("without a rung that helps, an evaluation ends with 81 and a state that is saved") {
  Cramped cramped(1000);
  cramped.bench.parts.eval = &cramped.data;
  cramped.bench.parts.settings.eval_batch_size = 2;
  cramped.eval_most = 0;
  CHECK_THROWS_WITH_AS(cramped.bench.run(),
                       "evaluation, batch 0: error[memory.device]: tried to allocate 9 GiB\n  hint: set a smaller "
                       "train.eval_batch_size",
                       Error);
  CHECK(rungs_of(cramped.bench) == std::vector<std::string>{"retry", "halve_micro_batch", "save"});
  CHECK(cramped.bench.saver.saves.back()->request.suffix == "-oom");
}

TEST_CASE("memory that runs out in the very first window leaves nothing to save, and it is said") {
  Cramped cramped(0);
  CHECK_THROWS_AS(cramped.bench.run(), Error);
  CHECK(cramped.bench.saver.saves.empty());
  CHECK(cramped.bench.notes.notes ==
        std::vector<std::string>{
            "no checkpoint is written: memory ran out in the first window, so there is nothing to lose yet"});
}

TEST_CASE("a hook may ask for the next rung at an edge, for a save when memory ran out, but not for both there") {
  Cramped run(1000);
  run.bench.hook.on_window = [&](const WindowReport& report, Requests& requests) {
    if (report.update <= 4) requests.escalate("it is getting full");
  };
  run.bench.run();
  CHECK(run.sizes == std::vector<std::int64_t>{8, 4, 4, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(run.bench.notes.notes ==
        std::vector<std::string>{"it is getting full: the micro-batch is halved: micro_batch_size 8 -> 4",
                                 "it is getting full: the micro-batch is halved: micro_batch_size 4 -> 2",
                                 "it is getting full: the micro-batch is halved: micro_batch_size 2 -> 1",
                                 "it is getting full: memory.on_oom has nothing left that would need less memory"});

  Cramped saves(4);
  saves.bench.hook.on_out_of_memory = [](Requests& requests) { requests.save("after a shortage"); };
  saves.bench.run();
  CHECK(saves.bench.saver.saves.at(0)->request.update == 1);
  CHECK(saves.bench.saver.saves.at(0)->request.reason == "after a shortage");

  Cramped climbs(4);
  climbs.bench.hook.on_out_of_memory = [](Requests& requests) { requests.escalate("more"); };
  CHECK_THROWS_WITH_AS(
      climbs.bench.run(),
      "hook.probe: error[hook.request]: asked for the next rung of the memory ladder (more), which this "
      "release cannot do here\n  hint: set enabled = false in [hook.probe]",
      Error);
}
