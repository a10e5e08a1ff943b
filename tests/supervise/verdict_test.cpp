// What a verdict says in words: evidence, sources that gave nothing, and runs that need no explanation.
#include "supervise/verdict.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "fake_system.hpp"
#include "supervise/recorder.hpp"
#include "temp_folder.hpp"
#include "verdict_fixture.hpp"

using namespace holdfast::supervise;
using namespace holdfast::test;

namespace {
bool has(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}
}  // namespace

TEST_CASE("a run that is up, finished or absent needs no explanation") {
  Evidence at = silent_death();
  at.trace.locked = true;
  CHECK(judge(at).sentence == "still running: process 4711");
  at = last_word(0, "the target of 20 updates is reached", "finished");
  CHECK(judge(at).sentence == "the run is finished: the target of 20 updates is reached");
  CHECK(judge(at).exit_code == 0);
  CHECK(judge(Evidence{}).sentence == "nothing has run here yet");
}

TEST_CASE("what could not be read is named, and forbidden is not taken for no") {
  Evidence at = silent_death();
  at.kernel.access = Access::kForbidden;
  at.group.access = Access::kAbsent;
  const Verdict verdict = judge(at);
  CHECK(has(verdict.unread, "the kernel's log (/dev/kmsg): forbidden"));
  CHECK(has(verdict.unread, "/sys/fs/cgroup/job/memory.events: absent"));
  CHECK(has(verdict.evidence, "the kernel's log may not be read by this user: an OOM kill would stand there"));
}

TEST_CASE("the exit of a worker that never began is told by its code, not by the attempt before it") {
  Evidence at = last_word(75, "SIGTERM from pid 1", "stopped");
  at.trace.ending = Ending{99, 0, 78, 0, false};
  const Verdict verdict = judge(at);
  CHECK(verdict.cause == Cause::kRecipe);
  CHECK(verdict.exit_code == 78);
  CHECK(verdict.sentence == "the recipe is invalid or in conflict, told before the run began");
}

TEST_CASE("75 before the run began may be a stop or a locked folder: neither is stated") {
  Evidence at = silent_death();
  at.trace.ending = Ending{99, 0, 75, 0, false};
  CHECK(judge(at).certainty == Certainty::kLikely);
  CHECK(judge(at).sentence == "asked to stop before the run began, or another process holds the run's folder");
}

TEST_CASE("place and time of the end come from the recorder where the run itself said nothing") {
  const Verdict verdict = judge(silent_death());
  CHECK(verdict.update == 42);
  CHECK(verdict.phase == "training");
  CHECK(verdict.checkpoint == 30);
  CHECK(verdict.last_seen == "2027-01-15T07:59:55.000Z");
}

TEST_CASE("heat of the GPU is told beside the cause") {
  Evidence at = silent_death();
  at.recording.value.samples.back().gpu.clock_reasons = 0x40;
  at.recording.value.samples.back().gpu.temperature_celsius = 91;
  CHECK(has(judge(at).evidence, "recorder: the GPU slowed itself for heat at 91 C"));
}

TEST_CASE("a hang tells the phase, the last sign and where the main thread stood") {
  Evidence at = ended_by(SIGKILL);
  at.trace.ending->hung = true;
  at.recording.value.live->sign = Sign::kPoll;
  at.stacks.access = Access::kValue;
  at.stacks.value = "process 4711 hang\nthread 4711 holdfast-worker: S (sleeping), in futex_wait\n";
  const Verdict verdict = judge(at);
  CHECK(verdict.sentence == "no progress for too long while training, after update 42");
  CHECK(has(verdict.evidence, "recorder: the last sign was a look for stop requests"));
  CHECK(has(verdict.evidence, "stacks.txt: thread 4711 holdfast-worker: S (sleeping), in futex_wait"));
}

TEST_CASE("collect takes what belongs to this attempt and leaves the rest") {
  const TempFolder folder;
  FakeSystem system;
  system.files["/proc/sys/kernel/random/boot_id"] = "boot-1\n";
  const auto line = [](std::int64_t at_ns, int pid) {
    return "3,1," + std::to_string(at_ns / 1000) + ",-;Killed process " + std::to_string(pid) + " (x)\n";
  };
  const std::int64_t now = monotonic_ns();
  system.files["/dev/kmsg"] = line(now - 60 * kSecondNs, 1) + line(now + kSecondNs, 2) + line(now + 600 * kSecondNs, 3);
  system.files["/proc/driver/nvidia/version"] = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar\n";
  Attempt attempt;
  attempt.pid = 4711;
  attempt.monotonic = now;
  attempt.boot_id.set("boot-1");
  std::string why;
  Recorder::open(folder / "recorder.bin", attempt, {}, why).reset();
  Trace trace;
  trace.generation = folder.path();
  trace.state = "running";
  trace.pid = 4711;
  Evidence at = collect(system, trace);
  CHECK(at.recording);
  CHECK(at.driver.value == "550.54.15");
  REQUIRE(at.kernel.value.size() == 1);
  CHECK(at.kernel.value[0].pid == 2);
  trace.pid = 12;
  at = collect(system, trace);
  CHECK(at.recording.access == Access::kBroken);
  CHECK(at.recording.fault == "it is that of process 4711, not of 12");
}

TEST_CASE("every cause has a name of its own, a clause and advice") {
  for (const CauseRow& row : causes()) {
    CAPTURE(row.name);
    CHECK(std::ranges::count(causes(), row.name, &CauseRow::name) == 1);
    CHECK_FALSE(row.meaning.empty());
    CHECK((row.cause == Cause::kNone || !row.advice.empty()));
  }
}
