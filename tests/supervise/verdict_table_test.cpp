// The table cause x verdict: each row of evidence, and the verdict it must get. Printed, so that a reader sees it
// whole.
#include <doctest/doctest.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <vector>

#include "verdict_fixture.hpp"

using namespace holdfast::supervise;
using namespace holdfast::test;

namespace {

struct Row {
  const char* what;
  std::function<Evidence()> evidence;
  const char* cause;
  const char* certainty;
  int code;
};

Evidence with(Evidence at, const std::function<void(Evidence&)>& change) {
  change(at);
  return at;
}

Evidence fatal(int signal, const char* mapping) {
  Evidence at = last_word(70, "plugin 'x': read crashed (SIGBUS)");
  at.recording.value.fatal.emplace();
  at.recording.value.fatal->signal = signal;
  at.recording.value.fatal->mapping.set(mapping);
  return at;
}

Evidence on_gpu(Evidence at) {
  at.recording.value.attempt.device.set("cuda:0");
  return at;
}

void add_xid(Evidence& at, std::int64_t xid, std::int64_t pid) {
  KernelEvent event;
  event.kind = KernelEvent::Kind::kXid;
  event.xid = xid;
  event.pid = pid;
  at.kernel.value.push_back(event);
}

void gpu_status(Evidence& at, std::int64_t status) {
  at.gpu.access = Access::kValue;
  at.gpu.value.status = status;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"device out of memory, told by the run", [] { return last_word(81, "out of memory"); }, "vram_oom",
       "established", 81},
      {"SIGKILL, kernel names the process",
       [] { return with(ended_by(SIGKILL), [](auto& at) { add_kernel_kill(at, kPid); }); }, "host_oom", "established",
       88},
      {"the same at the next start", [] { return with(silent_death(), [](auto& at) { add_kernel_kill(at, kPid); }); },
       "host_oom", "established", 88},
      {"the same, whole machine",
       [] { return with(silent_death(), [](auto& at) { add_kernel_kill(at, kPid, true); }); }, "host_oom",
       "established", 88},
      {"SIGKILL, group counter rose, at its limit, kernel log forbidden",
       [] {
         return with(ended_by(SIGKILL), [](auto& at) {
           at.kernel.access = Access::kForbidden;
           at.group.value.kills = 1;
           at.trace.ending->max_resident = 1020 << 20;
         });
       },
       "host_oom", "established", 88},
      {"SIGKILL, group counter rose, far from the limit",
       [] {
         return with(ended_by(SIGKILL), [](auto& at) {
           at.kernel.access = Access::kForbidden;
           at.group.value.kills = 1;
         });
       },
       "host_oom", "likely", 88},
      {"next start, group counter rose, kernel log forbidden",
       [] {
         return with(silent_death(), [](auto& at) {
           at.kernel.access = Access::kForbidden;
           at.group.value.kills = 1;
         });
       },
       "host_oom", "likely", 88},
      {"group counter rose, but the kernel names another process",
       [] {
         return with(ended_by(SIGKILL), [](auto& at) {
           at.group.value.kills = 1;
           add_kernel_kill(at, 99);
         });
       },
       "killed_unknown", "unknown", 86},
      {"group counter rose before the last sample",
       [] {
         return with(ended_by(SIGKILL), [](auto& at) {
           at.group.value.kills = 2;
           at.recording.value.samples.back().group_kills = 2;
         });
       },
       "killed_unknown", "unknown", 86},
      {"machine's counter rose, at the limit, no group files",
       [] {
         return with(ended_by(SIGKILL), [](auto& at) {
           at.group.access = Access::kForbidden;
           at.kernel.access = Access::kForbidden;
           at.system_kills.value = 4;
           at.trace.ending->max_resident = 1020 << 20;
         });
       },
       "host_oom", "likely", 88},
      {"machine's counter rose, far from the limit",
       [] { return with(ended_by(SIGKILL), [](auto& at) { at.system_kills.value = 4; }); }, "killed_unknown", "unknown",
       86},
      {"bad_alloc under ulimit -v",
       [] {
         return with(last_word(88, "the host has no memory left"),
                     [](auto& at) { at.recording.value.attempt.limit_address_space = 2LL << 30; });
       },
       "alloc_limit", "established", 88},
      {"bad_alloc without a limit", [] { return last_word(88, "the host has no memory left"); }, "host_oom",
       "established", 88},
      {"SIGKILL, no evidence", [] { return ended_by(SIGKILL); }, "killed_unknown", "unknown", 86},
      {"next start, no evidence", [] { return silent_death(); }, "killed_unknown", "unknown", 86},
      {"next start, pressure was high (systemd-oomd)",
       [] { return with(silent_death(), [](auto& at) { at.recording.value.samples.back().memory_pressure = 6000; }); },
       "killed_unknown", "unknown", 86},
      {"SIGTERM, saved", [] { return last_word(75, "SIGTERM from pid 1", "stopped"); }, "stopped", "established", 75},
      {"SIGHUP of the terminal, saved", [] { return last_word(75, "SIGHUP from the terminal", "stopped"); }, "sighup",
       "established", 75},
      {"second stop request",
       [] { return last_word(87, "SIGTERM from pid 1, the second stop request: leaving at once"); }, "stopped",
       "established", 87},
      {"asked to stop, then killed",
       [] {
         return with(silent_death(), [](auto& at) {
           at.recording.value.stop.emplace();
           at.recording.value.stop->why.set("SIGTERM from pid 1");
         });
       },
       "stopped", "likely", 87},
      {"memory guard", [] { return last_word(75, "memory guard: device memory at 93 %", "stopped"); }, "guard",
       "established", 75},
      {"preemption notice", [] { return last_word(75, "preemption notice: the file /run/notice is there", "stopped"); },
       "preempted", "established", 75},
      {"ulimit -t, saved",
       [] { return last_word(75, "SIGXCPU: the limit on processor time (ulimit -t) is reached", "stopped"); },
       "cpu_limit", "established", 75},
      {"ulimit -t, by wait status", [] { return ended_by(SIGXCPU); }, "cpu_limit", "established", 87},
      {"driver and library differ",
       [] { return with(last_word(69, "no device"), [](auto& at) { gpu_status(at, 18); }); }, "driver_mismatch",
       "established", 69},
      {"no driver loaded", [] { return with(last_word(69, "no device"), [](auto& at) { gpu_status(at, 9); }); },
       "gpu_missing", "established", 69},
      {"no NVML library", [] { return last_word(69, "no device"); }, "gpu_missing", "established", 69},
      {"XID 79 names the process",
       [] { return with(on_gpu(ended_by(SIGKILL)), [](auto& at) { add_xid(at, 79, kPid); }); }, "gpu_fault",
       "established", 84},
      {"XID 79 names nobody", [] { return with(on_gpu(ended_by(SIGKILL)), [](auto& at) { add_xid(at, 79, 0); }); },
       "gpu_fault", "likely", 84},
      {"XID 31, a fault of the program",
       [] { return with(on_gpu(ended_by(SIGKILL)), [](auto& at) { add_xid(at, 31, kPid); }); }, "crash", "established",
       70},
      {"GPU lost",
       [] {
         return with(on_gpu(ended_by(SIGKILL)), [](auto& at) {
           gpu_status(at, 0);
           at.gpu.value.gpus.emplace_back().status = 15;
         });
       },
       "gpu_fault", "likely", 84},
      {"GPU lost, but the run was on the CPU",
       [] {
         return with(ended_by(SIGKILL), [](auto& at) {
           gpu_status(at, 0);
           at.gpu.value.gpus.emplace_back().status = 15;
         });
       },
       "killed_unknown", "unknown", 86},
      {"SIGBUS in /dev/shm", [] { return fatal(SIGBUS, "/dev/shm/batch"); }, "sigbus_shm", "established", 85},
      {"SIGBUS in a mapped file", [] { return fatal(SIGBUS, "/data/train.txt"); }, "sigbus_file", "established", 74},
      {"SIGBUS by wait status, /dev/shm full",
       [] { return with(ended_by(SIGBUS), [](auto& at) { at.shm.value.free = 0; }); }, "sigbus_shm", "likely", 85},
      {"disk full", [] { return last_word(74, "cannot write: No space left on device (ENOSPC)"); }, "disk_full",
       "established", 74},
      {"quota", [] { return last_word(74, "cannot write: Disk quota exceeded (EDQUOT)"); }, "disk_full", "established",
       74},
      {"disk full at the start", [] { return last_word(73, "cannot create: No space left on device (ENOSPC)"); },
       "disk_full", "established", 73},
      {"no last word, and no room for it",
       [] {
         return with(silent_death(), [](auto& at) {
           at.output.value.free = 0;
           at.recording.value.samples.back().disk_free = 0;
         });
       },
       "disk_full", "likely", 74},
      {"ulimit -f", [] { return last_word(74, "cannot write: File too large (EFBIG)"); }, "file_limit", "established",
       74},
      {"ulimit -f, by wait status", [] { return ended_by(SIGXFSZ); }, "file_limit", "established", 74},
      {"read-only file system", [] { return last_word(74, "cannot write: Read-only file system (EROFS)"); },
       "fs_readonly", "established", 74},
      {"I/O error", [] { return last_word(74, "cannot read: Input/output error (EIO)"); }, "io_error", "established",
       74},
      {"ulimit -n", [] { return last_word(74, "cannot read: Too many open files (EMFILE)"); }, "fd_limit",
       "established", 74},
      {"diverged", [] { return last_word(82, "the loss is not finite"); }, "nan_divergence", "established", 82},
      {"killed for a hang", [] { return with(ended_by(SIGKILL), [](auto& at) { at.trace.ending->hung = true; }); },
       "hang", "established", 83},
      {"stacks of a hang at the next start",
       [] {
         return with(silent_death(), [](auto& at) {
           at.stacks.access = Access::kValue;
           at.stacks.value = "process 4711 hang\nthread 4711 x: S (sleeping)\n";
         });
       },
       "hang", "likely", 83},
      {"silent for long before it was killed",
       [] {
         return with(silent_death(), [](auto& at) { at.recording.value.samples.back().monotonic = 900 * kSecondNs; });
       },
       "hang", "likely", 83},
      {"SIGSEGV in a plugin", [] { return last_word(70, "plugin 'x': forward crashed (SIGSEGV)"); }, "crash",
       "established", 70},
      {"SIGSEGV, by wait status", [] { return ended_by(SIGSEGV); }, "crash", "established", 70},
      {"SIGILL, by wait status", [] { return ended_by(SIGILL); }, "crash", "established", 70},
      {"SIGFPE, by wait status", [] { return ended_by(SIGFPE); }, "crash", "established", 70},
      {"an exception of a plugin", [] { return last_word(70, "plugin 'x': forward threw: no"); }, "plugin_error",
       "established", 70},
      {"the machine was restarted", [] { return with(silent_death(), [](auto& at) { at.boot_id = "boot-2"; }); },
       "host_reboot", "likely", 75},
      {"recipe invalid", [] { return last_word(78, "conflict"); }, "config", "established", 78},
      {"bad data", [] { return last_word(65, "corrupt"); }, "data", "established", 65},
      {"data missing", [] { return last_word(66, "missing"); }, "missing_input", "established", 66},
      {"permission", [] { return last_word(77, "foreign folder"); }, "permission", "established", 77},
      {"plugin of another ABI", [] { return last_word(80, "wrong ABI"); }, "plugin", "established", 80},
  };
  return all;
}

}  // namespace

TEST_CASE("each row of evidence gets its cause, its certainty and its exit code") {
  std::printf("%-66s %-16s %-12s %s\n", "EVIDENCE", "CAUSE", "CERTAINTY", "EXIT");
  for (const Row& row : rows()) {
    CAPTURE(row.what);
    const Verdict verdict = judge(row.evidence());
    const std::string cause(cause_row(verdict.cause).name), certainty(certainty_name(verdict.certainty));
    std::printf("%-66s %-16s %-12s %d\n", row.what, cause.c_str(), certainty.c_str(), verdict.exit_code);
    CHECK(cause == row.cause);
    CHECK(certainty == row.certainty);
    CHECK(verdict.exit_code == row.code);
    CHECK_FALSE(verdict.sentence.empty());
    CHECK_FALSE(verdict.advice.empty());
  }
}

TEST_CASE("no verdict is established by sources that gave nothing") {
  for (const Row& row : rows()) {
    CAPTURE(row.what);
    Evidence at = row.evidence();
    if (at.trace.exit_code || at.trace.ending) continue;  // those have a word or a parent
    at.recording.access = at.group.access = at.kernel.access = at.system_kills.access = at.stacks.access =
        Access::kForbidden;
    const Verdict verdict = judge(at);
    CHECK(verdict.cause == Cause::kKilled);
    CHECK(verdict.certainty == Certainty::kUnclear);
  }
}
