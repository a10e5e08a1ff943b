// The hook "divergence_guard": what it calls bad, what it asks for, when it has had enough.
#include "divergence_guard/divergence_guard.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "divergence_guard/spread.hpp"
#include "fixtures/components.hpp"

using namespace holdfast;
using holdfast::plugins::DivergenceGuard;
using holdfast::plugins::spread_of;
using holdfast::test::defaults;
using holdfast::test::Lender;
using holdfast::test::told;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinite = std::numeric_limits<double>::infinity();

struct Guard {
  explicit Guard(const std::string& then = "skip", std::int64_t budget = 3, std::int64_t budget_updates = 0) {
    Options options = defaults<DivergenceGuard>();
    options.set("then", then);
    options.set("warmup_updates", std::int64_t{10});
    options.set("budget", budget);
    if (budget_updates > 0) options.set("budget_updates", budget_updates);
    hook = std::make_unique<DivergenceGuard>(options, lender.context("hook.divergence_guard"));
  }
  Requests judge(double loss, double grad_norm = 1, double loss_scale = 0) {
    UpdateProposal proposal{update + 1, window + 1, loss, grad_norm, std::isfinite(loss) && std::isfinite(grad_norm),
                            loss_scale};
    Requests requests;
    hook->before_update(proposal, requests);
    return requests;
  }
  Requests end(double loss, bool applied) {
    ++window;
    update += applied;
    WindowReport report;
    report.update = update;
    report.window = window;
    report.loss = loss;
    report.applied = applied;
    Requests requests;
    hook->window_end(report, requests);
    return requests;
  }
  /// So many windows with losses 1.0, 1.1, 1.2, 1.0, ...
  void train(int windows) {
    for (int i = 0; i < windows; ++i) {
      const double loss = 1 + 0.1 * (i % 3);
      const Requests asked = judge(loss);
      REQUIRE_FALSE(asked.skip_reason);
      REQUIRE_FALSE(asked.stop_code);
      end(loss, true);
    }
  }
  Requests bad(double loss) {
    Requests asked = judge(loss);
    end(loss, false);
    return asked;
  }
  Lender lender;
  std::unique_ptr<DivergenceGuard> hook;
  std::int64_t update = 0, window = 0;
};

}  // namespace

TEST_CASE("the spread is that of the middle: outliers do not move it, a flat loss has one all the same") {
  const auto plain = spread_of({1, 2, 3, 4, 5, 6, 7});
  CHECK(plain.median == 4);
  CHECK(plain.unit == doctest::Approx(1.4826 * 2));
  CHECK(plain.above(4 + 3 * plain.unit) == doctest::Approx(3));
  const auto wild = spread_of({1, 2, 3, 4, 5, 6, 1e30});
  CHECK(wild.median == 4);
  CHECK(wild.unit == doctest::Approx(1.4826 * 2));
  CHECK(spread_of({1, 2, 3, 10}).median == 2.5);
  CHECK(spread_of({5, 5, 5}).unit == doctest::Approx(0.05));
  CHECK(spread_of({0, 0, 0}).above(0.001) > 1e6);
  CHECK(spread_of({1.7e308, 1.7e308}).median == 1.7e308);
}

TEST_CASE("a loss far above those before it is a spike, after the warm-up, and one far below is none") {
  Guard guard;
  CHECK_FALSE(guard.judge(1e6).skip_reason);
  guard.train(9);
  CHECK_FALSE(guard.judge(1e6).skip_reason);  // update 10, the last of the warm-up
  guard.train(3);
  CHECK_FALSE(guard.judge(-1e6).skip_reason);
  CHECK_FALSE(guard.judge(2.5).skip_reason);
  const Requests asked = guard.judge(3);
  CHECK(asked.skip_reason ==
        "update 13: the loss of window 13 is 3, 12.8153 spreads above the median 1.1 of the last 12 losses (threshold "
        "10)");
  CHECK_FALSE(asked.rollback_reason);
  CHECK_FALSE(asked.save_reason);
}

TEST_CASE("losses of windows that were dropped do not count among those before") {
  Guard guard("skip", 1000);
  guard.train(20);
  for (int i = 0; i < 200; ++i) CHECK(guard.bad(50).skip_reason);
  guard.train(20);
}

TEST_CASE("numbers that are not finite are bad from the first update on, but not under a loss scale") {
  Guard guard;
  CHECK(guard.judge(kNan).skip_reason == "update 1: the loss of window 1 is nan, where a finite number is needed");
  CHECK(guard.judge(0.5, kInfinite).skip_reason ==
        "update 1: a gradient of window 1 is not finite (norm inf, loss 0.5)");
  Guard scaled("stop");
  for (int i = 0; i < 100; ++i) {
    CHECK_FALSE(scaled.judge(0.5, kInfinite, 65536).stop_code);
    CHECK_FALSE(scaled.judge(kNan, kNan, 65536).stop_code);
  }
  CHECK(scaled.hook->state() == R"({"first_bad":0,"interventions":[],"losses":[],"windows":[]})");
}

TEST_CASE("then = stop: exit code 82 with a sentence, after a save of the state before the window") {
  Guard guard("stop");
  guard.train(20);
  const Requests asked = guard.judge(kInfinite);
  CHECK(asked.stop_code == ExitCode::kDiverged);
  CHECK(asked.save_reason == "diverged");
  CHECK(asked.stop_reason ==
        "divergence guard: update 21: the loss of window 21 is inf, where a finite number is needed; the first bad "
        "update was 21; lower optimizer.lr, set train.clip_grad_norm or look at the samples of that window, then run "
        "again");
}

TEST_CASE("when the budget is used up the sentence tells what was tried") {
  Guard guard("skip", 2);
  guard.train(20);
  CHECK(guard.bad(kNan).skip_reason);
  guard.train(20);
  CHECK(guard.bad(100).skip_reason);
  guard.train(1);
  const Requests asked = guard.bad(100);
  CHECK_FALSE(asked.skip_reason);
  CHECK(asked.stop_code == ExitCode::kDiverged);
  CHECK(
      asked.stop_reason ==
      "divergence guard: update 42: the loss of window 44 is 100, 667.071 spreads above the median 1.1 of the last 41 "
      "losses (threshold 10); 2 windows skipped, and the budget of 2 interventions in a run is used up; the first bad "
      "update was 21; lower optimizer.lr, set train.clip_grad_norm or look at the samples of that window, then run "
      "again");
}

TEST_CASE("a budget for so many updates forgets what lies further back") {
  Guard guard("skip", 1, 50);
  guard.train(20);
  CHECK(guard.bad(kNan).skip_reason);  // update 21
  guard.train(50);
  CHECK(guard.bad(kNan).skip_reason);  // update 71
  guard.train(49);
  const Requests asked = guard.bad(kNan);  // update 120
  CHECK(asked.stop_reason.find("1 window skipped, and the budget of 1 intervention in 50 updates is used up") !=
        std::string::npos);
}

TEST_CASE("then = rollback asks for the bad window and the applied one before it, with what was dropped between") {
  Guard guard("rollback");
  guard.train(20);
  const Requests asked = guard.bad(100);
  CHECK(
      asked.rollback_reason ==
      "divergence guard: update 21: the loss of window 21 is 100, 667.071 spreads above the median 1.1 of the last 20 "
      "losses (threshold 10)");
  CHECK(asked.rollback_windows == 2);
  CHECK(asked.rollback_kind == "spike");
  guard.end(0, false);  // windows 22 and 23: of weight 0
  guard.end(0, false);
  CHECK(guard.bad(kNan).rollback_windows == 5);
  CHECK(guard.judge(kNan).rollback_kind == "nonfinite");
}

TEST_CASE("then = rollback has the state after the first window saved, the others do not") {
  Guard back("rollback"), skip("skip");
  CHECK(back.end(1, true).save_reason == "divergence_guard");
  CHECK_FALSE(back.end(1, true).save_reason);
  CHECK_FALSE(skip.end(1, true).save_reason);
}

TEST_CASE("a rollback counts against the budget, whatever state came back with the checkpoint") {
  Guard guard("rollback", 1);
  guard.train(20);
  const std::string before = guard.hook->state();
  CHECK(guard.bad(kNan).rollback_reason);
  guard.hook->restore(before);
  guard.hook->rolled_back({20, 10, 19, 2, "nonfinite", ""});
  CHECK(guard.hook->state().find(R"("interventions":[[21,21,1]])") != std::string::npos);
  guard.update = 10;
  const Requests asked = guard.bad(kNan);
  CHECK(asked.stop_reason.find("1 rollback, and the budget of 1 intervention in a run is used up; the first bad update "
                               "was 21") != std::string::npos);
}

TEST_CASE("weights that were refused are acted on at the next edge; no window can be skipped for them") {
  SaveReport refused;
  refused.refused = true;
  refused.fault = "element 3 of the weight 'w' is not a finite number";
  Guard back("rollback"), skip("skip");
  for (Guard* guard : {&back, &skip}) {
    guard->train(20);
    guard->hook->save_end(refused);
  }
  const Requests asked = back.end(1, true);
  CHECK(asked.rollback_kind == "weights");
  CHECK(asked.rollback_windows == 2);
  CHECK(asked.rollback_reason == "divergence guard: update 21: element 3 of the weight 'w' is not a finite number");
  CHECK_FALSE(back.end(1, true).rollback_reason);
  CHECK(skip.end(1, true).stop_reason.find("no window can be skipped for that") != std::string::npos);
  SaveReport failed;  // a disk is no divergence
  failed.fault = "no space left";
  Guard disk("stop");
  disk.hook->save_end(failed);
  CHECK_FALSE(disk.end(1, true).stop_code);
}

TEST_CASE("the state goes through a checkpoint, keeps its size, and a smaller window takes the newest of it") {
  Guard guard("skip", 1000, 100);
  guard.train(150);
  const std::size_t size = guard.hook->state().size();
  for (int i = 0; i < 20; ++i) {
    guard.train(150);
    guard.bad(kNan);
  }
  CHECK(guard.hook->state().size() < size + 100);
  Guard other("skip", 1000, 100);
  other.hook->restore(guard.hook->state());
  CHECK(other.hook->state() == guard.hook->state());
  other.hook->restore("{}");
  CHECK(other.hook->state() == R"({"first_bad":0,"interventions":[],"losses":[],"windows":[]})");
}

TEST_CASE("a state that nobody wrote is refused in words and changes nothing") {
  Guard guard;
  guard.train(3);
  const std::string before = guard.hook->state();
  for (const char* text : {"[]", "{", R"({"losses":["x"]})", R"({"interventions":[[1]]})"}) {
    CHECK(told([&] {
            guard.hook->restore(text);
          }).starts_with("66 error[divergence_guard.state]: its losses, windows or interventions cannot be read: "));
    CHECK(guard.hook->state() == before);
  }
}
