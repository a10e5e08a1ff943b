// Plans with one owner a field, scopes in order, verdicts on gradients.
#include "engine/composition.hpp"

#include <doctest/doctest.h>

#include "engine/fixtures.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

struct Greedy : Strategy {
  void edit(PlanEditor& editor) override {
    editor.micro_batch_size(2);
    editor.recompute({"block.*"});
  }
};
struct Recompute : Strategy {
  void edit(PlanEditor& editor) override { editor.recompute({"*"}); }
};

/// Writes what it sees: "+a forward 1" when a scope opens, "-a forward 1" when it closes.
class Recorder : public Strategy {
 public:
  Recorder(std::string name, std::vector<std::string>& log) : name_(std::move(name)), log_(log) {}
  unsigned phases() const override { return 31; }
  std::unique_ptr<Scope> enter(const PhaseInfo& info) override {
    static const char* const kNames[] = {"attempt", "micro", "forward", "backward", "update"};
    const std::string text =
        name_ + " " + kNames[static_cast<int>(info.phase)] + " " + std::to_string(info.micro_batch);
    if (text == throws_at) throw std::runtime_error("scope refused");
    log_.push_back("+" + text);
    struct Closing : Scope {
      Closing(std::vector<std::string>& l, std::string t) : log(l), text(std::move(t)) {}
      ~Closing() override { log.push_back("-" + text); }
      std::vector<std::string>& log;
      std::string text;
    };
    return std::make_unique<Closing>(log_, text);
  }
  std::string throws_at;

 private:
  std::string name_;
  std::vector<std::string>& log_;
};

}  // namespace

TEST_CASE("all conflicts are told at once, each with its field and both owners") {
  Greedy greedy;
  MicroBatches accumulate(4);
  Recompute recompute;
  CHECK_THROWS_WITH_AS(
      engine::compose(
          {{"strategy.accumulate", &accumulate}, {"strategy.greedy", &greedy}, {"strategy.recompute", &recompute}}, 8),
      "strategy: error[plan.conflict]: 'micro_batch_size' is set by strategy.accumulate and by "
      "strategy.greedy; 'recompute' is set by strategy.greedy and by strategy.recompute\n"
      "  hint: set enabled = false in one of the two tables",
      Error);
}

TEST_CASE("a micro-batch larger than the batch is refused") {
  MicroBatches accumulate(9);
  CHECK_THROWS_WITH_AS(
      engine::compose({{"strategy.accumulate", &accumulate}}, 8),
      "strategy: error[plan.micro_batch_size]: strategy.accumulate sets a micro-batch of 9 samples in a "
      "batch of 8\n  hint: a micro-batch has between 1 and train.batch_size samples",
      Error);
}

TEST_CASE("scopes nest as phases do and close in reverse order") {
  std::vector<std::string> log;
  Recorder a("a", log), b("b", log);
  ProbeModel model;
  const TableDataset data = TableDataset::constant(2, 1);
  Bench bench(model, data);
  bench.micro(1);
  bench.parts.strategies.push_back({"strategy.a", &a});
  bench.parts.strategies.push_back({"strategy.b", &b});
  bench.parts.settings.batch_size = 2;
  bench.run();
  CHECK(log == std::vector<std::string>{
                   "+a attempt 0", "+b attempt 0", "+a micro 0",    "+b micro 0",    "+a forward 0",  "+b forward 0",
                   "-b forward 0", "-a forward 0", "+a backward 0", "+b backward 0", "-b backward 0", "-a backward 0",
                   "-b micro 0",   "-a micro 0",   "+a micro 1",    "+b micro 1",    "+a forward 1",  "+b forward 1",
                   "-b forward 1", "-a forward 1", "+a backward 1", "+b backward 1", "-b backward 1", "-a backward 1",
                   "-b micro 1",   "-a micro 1",   "+a update 2",   "+b update 2",   "-b update 2",   "-a update 2",
                   "-b attempt 0", "-a attempt 0"});
}

TEST_CASE("scopes close in reverse order when one cannot be opened") {
  std::vector<std::string> log;
  Recorder a("a", log), b("b", log);
  b.throws_at = "b forward 0";
  ProbeModel model;
  const TableDataset data = TableDataset::constant(1, 1);
  Bench bench(model, data);
  bench.parts.strategies = {{"strategy.a", &a}, {"strategy.b", &b}};
  CHECK_THROWS_WITH_AS(bench.run(), "forward of update 1, micro-batch 0: error[model.exception]: scope refused", Error);
  CHECK(log == std::vector<std::string>{"+a attempt 0", "+b attempt 0", "+a micro 0", "+b micro 0", "+a forward 0",
                                        "-a forward 0", "-b micro 0", "-a micro 0", "-b attempt 0", "-a attempt 0"});
}

TEST_CASE("a strategy may double the loss and veto a window, which leaves no trace") {
  struct Judge : Strategy {
    bool transforms_loss() const override { return true; }
    at::Tensor transform_loss(at::Tensor loss, const PhaseInfo&) override { return loss * 2; }
    bool judges_gradients() const override { return true; }
    Verdict judge(const NamedTensors& gradients, const PhaseInfo&) override {
      seen.push_back(gradients.get("w").item<double>());
      return seen.back() > 10 ? Verdict::kDrop : Verdict::kApply;
    }
    std::vector<double> seen;
  } judge;
  ProbeModel model;
  const TableDataset data(TableDataset::Rows{{1}, {8}, {3}});
  Bench bench(model, data);
  bench.parts.strategies = {{"strategy.judge", &judge}};
  const auto outcome = bench.run();
  CHECK(judge.seen == std::vector<double>{2, 16, 6});
  CHECK(model.value() == -8);
  CHECK(outcome.progress.skipped_windows == 1);
  CHECK(bench.notes.notes == std::vector<std::string>{"window 2 was dropped: strategy.judge judged against it"});
}
