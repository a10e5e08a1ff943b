// Evidence as tests describe it: a run that died without a word, to be changed by each case.
#pragma once

#include "supervise/verdict.hpp"

namespace holdfast::test {

inline constexpr std::int64_t kPid = 4711;
inline constexpr std::int64_t kSecondNs = 1'000'000'000;

inline supervise::Evidence silent_death() {
  using namespace supervise;
  Evidence at;
  at.trace.generation = "/runs/a/20261130T101500Z-3f2a";
  at.trace.state = "running";
  at.trace.pid = kPid;
  at.trace.update = 40;
  at.trace.checkpoint = 30;
  at.boot_id = "boot-1";
  at.wall = 1'800'000'000 * kSecondNs;
  at.recording.access = Access::kValue;
  Recording& record = at.recording.value;
  record.attempt.pid = kPid;
  record.attempt.monotonic = 100 * kSecondNs;
  record.attempt.boot_id.set("boot-1");
  record.attempt.memory_group.set("/sys/fs/cgroup/job");
  record.attempt.memory_total = std::int64_t{16} << 30;
  record.attempt.device.set("cpu");
  for (std::int64_t* limit :
       {&record.attempt.limit_address_space, &record.attempt.limit_file_size, &record.attempt.limit_cpu_seconds,
        &record.attempt.limit_descriptors, &record.attempt.limit_processes})
    *limit = kUnknown;
  record.attempt.hang_seconds = 600;
  record.live.emplace();
  record.live->update = 42;
  record.live->monotonic = 200 * kSecondNs;
  record.live->phase = Phase::kTraining;
  record.live->sign = Sign::kWindow;
  Sample sample;
  sample.monotonic = 201 * kSecondNs;
  sample.wall = at.wall - 5 * kSecondNs;
  sample.group_usage = 300 << 20;
  sample.group_limit = 1 << 30;
  sample.group_kills = 0;
  sample.system_kills = 3;
  sample.available = std::int64_t{8} << 30;
  sample.shm_free = 64 << 20;
  sample.shm_total = 64 << 20;
  record.samples.push_back(sample);
  at.group.access = Access::kValue;
  at.group.source = "/sys/fs/cgroup/job/memory.events";
  at.group.value.limit = 1 << 30;
  at.system_kills.access = Access::kValue;
  at.system_kills.value = 3;
  at.kernel.access = Access::kValue;
  at.kernel.source = "the kernel's log (/dev/kmsg)";
  at.shm.access = Access::kValue;
  at.shm.value = {64 << 20, 64 << 20, 0, 0, false};
  at.output.access = Access::kValue;
  at.output.value = {std::int64_t{1} << 40, std::int64_t{1} << 39, 0, 0, false};
  return at;
}

/// The same, whose parent saw how it ended.
inline supervise::Evidence ended_by(int signal, int code = 0) {
  supervise::Evidence at = silent_death();
  at.trace.ending = supervise::Ending{kPid, signal, code, 300 << 20, false};
  return at;
}

/// The same, that told its own end.
inline supervise::Evidence last_word(int code, const std::string& cause, const std::string& state = "failed") {
  supervise::Evidence at = silent_death();
  at.trace.state = state;
  at.trace.exit_code = code;
  at.trace.cause = cause;
  return at;
}

inline void add_kernel_kill(supervise::Evidence& at, std::int64_t pid, bool whole_system = false) {
  supervise::KernelEvent event;
  event.kind = supervise::KernelEvent::Kind::kOomKill;
  event.pid = pid;
  event.whole_system = whole_system;
  event.text = "Killed process " + std::to_string(pid) + " (holdfast-worker)";
  at.kernel.value.push_back(event);
}

}  // namespace holdfast::test
