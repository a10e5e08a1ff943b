// When silence is a hang, phase by phase.
#include "supervise/watchdog.hpp"

#include <doctest/doctest.h>

using namespace holdfast::supervise;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

Look at(Phase phase, std::int64_t beats) {
  Look look;
  look.begun = true;
  look.pulse.emplace();
  look.pulse->live.emplace();
  look.pulse->live->phase = phase;
  look.pulse->live->beats = beats;
  return look;
}

}  // namespace

TEST_CASE("training and evaluating hang after the limit, beginning, saving and ending after three times it") {
  for (const auto& [phase, limit] : {std::pair(Phase::kTraining, 10), std::pair(Phase::kEvaluating, 10),
                                     std::pair(Phase::kSaving, 30), std::pair(Phase::kEnding, 30)}) {
    Watchdog watchdog(10s, 0);
    CHECK_FALSE(watchdog.judge(at(phase, 5), 1 * kSecond));
    CHECK_FALSE(watchdog.judge(at(phase, 5), (1 + limit) * kSecond));
    CHECK(watchdog.judge(at(phase, 5), (1 + limit) * kSecond + 1));
  }
}

TEST_CASE("the sentence tells how long and in which phase") {
  Watchdog watchdog(10s, 0);
  watchdog.judge(at(Phase::kEvaluating, 5), 0);
  CHECK(*watchdog.judge(at(Phase::kEvaluating, 5), 12 * kSecond) == "no sign of progress for 12.0 s while evaluating");
}

TEST_CASE("each beat begins the time anew") {
  Watchdog watchdog(10s, 0);
  for (int i = 1; i < 100; ++i) CHECK_FALSE(watchdog.judge(at(Phase::kTraining, i), 9 * kSecond * i));
}

TEST_CASE("a worker that has not begun may take three times the limit") {
  Watchdog watchdog(10s, 0);
  CHECK_FALSE(watchdog.judge({}, 30 * kSecond));
  CHECK(*watchdog.judge({}, 31 * kSecond) == "no sign of progress for 31.0 s while starting");
}

TEST_CASE("a worker that trains without a recorder is not judged") {
  Watchdog watchdog(10s, 0);
  Look look;
  look.begun = true;
  CHECK_FALSE(watchdog.judge(look, 1000 * kSecond));
}

TEST_CASE("time in which the judge itself stood still does not count") {
  Watchdog watchdog(10s, 0);
  watchdog.judge(at(Phase::kTraining, 5), 0);
  watchdog.forgive(3600 * kSecond);
  CHECK_FALSE(watchdog.judge(at(Phase::kTraining, 5), 3605 * kSecond));
  CHECK(watchdog.judge(at(Phase::kTraining, 5), 3611 * kSecond));
}
