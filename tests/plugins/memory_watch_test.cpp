// The hooks that watch memory, on figures that the test makes up.
#include <doctest/doctest.h>

#include "fixtures/components.hpp"
#include "leak_detector/leak_detector.hpp"
#include "memory_guard/memory_guard.hpp"

using namespace holdfast;
using holdfast::plugins::LeakDetector;
using holdfast::plugins::MemoryGuard;
using holdfast::test::defaults;
using holdfast::test::Lender;
using holdfast::test::told;

namespace {

struct Figures : Memory {
  MemoryUse device() const override { return device_use; }
  MemoryUse host() const override { return host_use; }
  MemoryUse machine() const override {
    ++asked;
    return machine_use;
  }
  MemoryUse device_use, host_use, machine_use;
  mutable int asked = 0;
};

struct Guarded {
  explicit Guarded(const std::string& then = "continue") {
    Options options = defaults<MemoryGuard>();
    options.set("then", then);
    hook = std::make_unique<MemoryGuard>(options, lender.context("hook.memory_guard"));
    memory.device_use = {0, 100 << 20, 0, "memory.device_budget"};
  }
  Requests edge(std::int64_t mebibytes, Duration now = {}) {
    memory.device_use.used = mebibytes << 20;
    WindowReport report;
    report.memory = &memory;
    report.now = now;
    Requests requests;
    hook->window_end(report, requests);
    return requests;
  }
  Lender lender;
  Figures memory;
  std::unique_ptr<MemoryGuard> hook;
};

}  // namespace

TEST_CASE("the guard asks once a crossing, and again after the share has fallen by the hysteresis") {
  Guarded guarded;
  CHECK_FALSE(guarded.edge(89).save_reason);
  const Requests asked = guarded.edge(90);
  CHECK(asked.save_reason == "guard");
  CHECK(asked.release);
  CHECK_FALSE(asked.stop_code);
  CHECK_FALSE(asked.escalate_reason);
  CHECK(guarded.lender.log.lines ==
        std::vector<std::string>{
            "memory guard: device memory is 90.0 % full: 90.0 MiB of the 100.0 MiB of memory.device_budget"});
  for (const std::int64_t share : {95, 89, 86, 91}) CHECK_FALSE(guarded.edge(share).save_reason);
  CHECK_FALSE(guarded.edge(84).save_reason);
  CHECK(guarded.edge(93).save_reason);
  CHECK(guarded.lender.log.lines.size() == 2);
}

TEST_CASE("the guard goes on, escalates or ends, as it is told") {
  CHECK(Guarded("escalate").edge(99).escalate_reason ==
        "memory guard: device memory is 99.0 % full: 99.0 MiB of the 100.0 MiB of memory.device_budget");
  const Requests ended = Guarded("exit").edge(99);
  CHECK(ended.stop_code == ExitCode::kStoppedAfterSave);
  CHECK(ended.stop_reason ==
        "memory guard: device memory is 99.0 % full: 99.0 MiB of the 100.0 MiB of memory.device_budget");
}

TEST_CASE("the machine is looked at once a second, and what has no limit is not judged") {
  Guarded guarded;
  guarded.memory.machine_use = {95, 100, 0, "the control group /x"};
  CHECK(guarded.edge(1, std::chrono::milliseconds(1)).save_reason);
  CHECK(
      guarded.lender.log.lines ==
      std::vector<std::string>{"memory guard: memory is 95.0 % full: 0.0 MiB of the 0.0 MiB of the control group /x"});
  guarded.edge(1, std::chrono::milliseconds(900));
  CHECK(guarded.memory.asked == 1);
  guarded.memory.device_use.limit = guarded.memory.machine_use.limit = 0;
  CHECK_FALSE(guarded.edge(1000, std::chrono::seconds(3)).save_reason);
  CHECK(guarded.memory.asked == 2);
}

TEST_CASE("a hysteresis that could never arm the guard again is refused") {
  Options options = defaults<MemoryGuard>();
  options.set("hysteresis", 0.9);
  Lender lender;
  CHECK(told([&] { MemoryGuard(options, lender.context("hook.memory_guard")); }) ==
        "78 hook.memory_guard: error[memory_guard.hysteresis]: `hysteresis` must be smaller than `at`, or the guard "
        "would "
        "never be armed again\n  hint: make it smaller, for example 0.05");
}

namespace {

struct Leaking {
  Leaking() {
    Options options;
    options.set("windows", std::int64_t{100});
    hook = std::make_unique<LeakDetector>(options, lender.context("hook.leak_detector"));
  }
  void edges(int count, std::int64_t growth) {
    for (int i = 0; i < count; ++i) {
      memory.device_use.used += growth;
      WindowReport report;
      report.update = ++update;
      report.memory = &memory;
      Requests requests;
      // Every seventh window something is held for a moment.
      if (update % 7 == 0) memory.device_use.used += 1 << 20;
      hook->window_end(report, requests);
      if (update % 7 == 0) memory.device_use.used -= 1 << 20;
    }
  }
  Lender lender;
  Figures memory;
  std::int64_t update = 0;
  std::unique_ptr<LeakDetector> hook;
};

}  // namespace

TEST_CASE("memory that grows without pause is told once, with the growth an update, though nothing more is reserved") {
  Leaking leaking;
  leaking.memory.device_use.reserved = 8 << 20;
  leaking.edges(90, 2048);
  CHECK(leaking.lender.log.lines.empty());
  leaking.edges(10, 2048);
  CHECK(
      leaking.lender.log.lines ==
      std::vector<std::string>{
          "device memory leaks: what is in use between windows has grown by 2.0 KiB an update over 90 updates, to "
          "200.0 KiB (8192.0 KiB reserved); something keeps tensors of every window, for example a sum of losses that "
          "was not detached"});
  leaking.edges(1000, 2048);
  CHECK(leaking.lender.log.lines.size() == 1);
}

TEST_CASE("memory that stays, or is given back in between, is no leak") {
  Leaking leaking;
  leaking.edges(500, 0);
  for (int i = 0; i < 8; ++i) {
    leaking.edges(80, 4096);
    leaking.edges(20, -4 * 4096);
  }
  CHECK(leaking.lender.log.lines.empty());
}
