// The policy of restarts: the last column of the table of exit codes, back-off, and giving up.
#include "supervise/restart.hpp"

#include <doctest/doctest.h>

using namespace holdfast::supervise;
using namespace std::chrono_literals;

namespace {

Verdict ended(Cause cause, int code) {
  Verdict verdict;
  verdict.cause = cause;
  verdict.exit_code = code;
  return verdict;
}
Verdict crash() { return ended(Cause::kCrash, 70); }

}  // namespace

TEST_CASE("what would happen again is not started again") {
  for (const int code : {64, 65, 66, 77, 78, 80, 81, 82}) {
    RestartPolicy policy({5, 10s}, -1);
    const Decision decision = policy.after(ended(cause_of_code(code), code), 100);
    CHECK_FALSE(decision.restart);
    CHECK(decision.why == "the same would happen again");
  }
}

TEST_CASE("C104: a reached target and a stop that was asked for are ends") {
  RestartPolicy policy({5, 10s}, -1);
  CHECK_FALSE(policy.after(ended(Cause::kNone, 0), 9).restart);
  CHECK(policy.after(ended(Cause::kStopped, 75), 9).why == "a stop was asked for");
  CHECK_FALSE(policy.after(ended(Cause::kHangup, 75), 9).restart);
  CHECK_FALSE(policy.after(ended(Cause::kCpuLimit, 75), 9).restart);
}

TEST_CASE("75 is started again only when the guard is its cause") {
  RestartPolicy policy({5, 10s}, -1);
  CHECK(policy.after(ended(Cause::kGuard, 75), 9).restart);
}

TEST_CASE("70 is started again only when a signal killed the worker") {
  CHECK(RestartPolicy({5, 10s}, -1).after(crash(), -1).restart);
  CHECK_FALSE(RestartPolicy({5, 10s}, -1).after(ended(Cause::kBug, 70), 3).restart);
  CHECK_FALSE(RestartPolicy({5, 10s}, -1).after(ended(Cause::kPluginError, 70), 3).restart);
}

TEST_CASE("trouble that may pass waits longer each time") {
  for (const int code : {69, 73, 74, 83, 84, 85, 86, 87, 88}) {
    RestartPolicy policy({5, 10s}, -1);
    const Verdict verdict = ended(cause_of_code(code), code);
    CHECK(policy.after(verdict, -1).wait == 10s);
    CHECK(policy.after(verdict, -1).wait == 20s);
    CHECK(policy.after(verdict, -1).wait == 40s);
  }
}

TEST_CASE("C102: after N tries without a newer checkpoint it gives up, however often the run began") {
  RestartPolicy policy({2, 10s}, 4);
  CHECK(policy.after(crash(), 4).restart);
  CHECK(policy.after(crash(), 4).restart);
  const Decision last = policy.after(crash(), 4);
  CHECK_FALSE(last.restart);
  CHECK(last.why == "2 restarts without a newer checkpoint");
}

TEST_CASE("C102: a newer checkpoint is progress and begins the count anew; an older one is not") {
  RestartPolicy policy({2, 10s}, -1);
  CHECK(policy.after(crash(), -1).wait == 10s);
  CHECK(policy.after(crash(), -1).wait == 20s);
  CHECK(policy.after(crash(), 0).wait == 10s);
  CHECK(policy.after(crash(), 0).wait == 20s);
  CHECK(policy.after(crash(), 7).wait == 10s);
  CHECK(policy.after(crash(), 5).wait == 20s);
  CHECK_FALSE(policy.after(crash(), 7).restart);
}

TEST_CASE("the wait ends to grow at five minutes, or at a longer first wait") {
  RestartPolicy policy({100, 10s}, -1);
  Decision decision;
  for (int i = 0; i < 100; ++i) decision = policy.after(crash(), -1);
  CHECK(decision.wait == 5min);
  RestartPolicy slow({100, 1h}, -1);
  slow.after(crash(), -1);
  CHECK(slow.after(crash(), -1).wait == 1h);
}

TEST_CASE("no restarts at all when none are allowed") {
  CHECK_FALSE(RestartPolicy({0, 10s}, -1).after(crash(), 50).restart);
}
