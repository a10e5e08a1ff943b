// Rules for a process that said nothing at its end: the kernel, the control group, the GPU and its parent are asked.
#include <algorithm>
#include <array>
#include <csignal>

#include "base/text.hpp"
#include "supervise/finding.hpp"

namespace holdfast::supervise {
namespace {

constexpr double kNearLimit = 0.95;
constexpr std::int64_t kNoRoom = 64 << 10;    // bytes: a status needs a block or two
constexpr std::int64_t kHighPressure = 4000;  // hundredths of a percent: 40 % of the time all tasks waited for memory

std::int64_t pid_of(const Evidence& at) { return at.trace.ending ? at.trace.ending->pid : at.trace.pid; }
int signal_of(const Evidence& at) { return at.trace.ending ? at.trace.ending->signal : 0; }

const Sample* last_sample(const Evidence& at) {
  return at.recording && !at.recording.value.samples.empty() ? &at.recording.value.samples.back() : nullptr;
}

bool same_boot(const Evidence& at) {
  return at.recording && !at.boot_id.empty() && at.recording.value.attempt.boot_id.view() == at.boot_id;
}

/// How many more were killed for memory now than when the recorder last looked; 0 where that is not known.
std::int64_t more_kills(std::int64_t now, std::int64_t sampled, std::int64_t at_begin) {
  const std::int64_t before = sampled != kUnknown ? sampled : at_begin;
  return before == kUnknown ? 0 : std::max<std::int64_t>(0, now - before);
}

std::int64_t group_kills(const Evidence& at) {
  if (!at.group || !same_boot(at)) return 0;
  const Sample* last = last_sample(at);
  return more_kills(at.group.value.kills, last ? last->group_kills : kUnknown, at.recording.value.attempt.group_kills);
}

std::int64_t system_kills(const Evidence& at) {
  if (!at.system_kills || !same_boot(at)) return 0;
  const Sample* last = last_sample(at);
  return more_kills(at.system_kills.value, last ? last->system_kills : kUnknown,
                    at.recording.value.attempt.system_kills);
}

/// Largest memory seen against the limit that applied.
bool was_near_limit(const Evidence& at, std::string& told) {
  const Sample* last = last_sample(at);
  std::int64_t limit = last != nullptr && last->group_limit != kUnknown ? last->group_limit : -1;
  if (limit < 0 && at.group) limit = at.group.value.limit;
  if (limit <= 0) return false;
  std::int64_t used = last != nullptr && last->group_usage != kUnknown ? last->group_usage : 0;
  if (at.trace.ending) used = std::max(used, at.trace.ending->max_resident);
  if (static_cast<double>(used) < kNearLimit * static_cast<double>(limit)) return false;
  told = "it held " + base::human_bytes(used) + " of a limit of " + base::human_bytes(limit);
  return true;
}

bool names_others_only(const Evidence& at) {
  if (!at.kernel) return false;
  bool some = false;
  for (const auto& event : at.kernel.value)
    if (event.kind == KernelEvent::Kind::kOomKill && event.pid > 0) {
      if (event.pid == pid_of(at)) return false;
      some = true;
    }
  return some;
}

Finding from_signal(int signal) {
  Finding finding{Cause::kCrash, Certainty::kEstablished, "killed by " + signal_name(signal), {}, {}};
  finding.evidence.push_back("wait status: " + signal_name(signal));
  switch (signal) {
    case SIGXFSZ:
      finding.cause = Cause::kFileSize;
      break;
    case SIGXCPU:
      finding.cause = Cause::kCpuLimit;
      finding.code = static_cast<int>(ExitCode::kStoppedWithoutSave);
      break;
    case SIGHUP:
      finding.cause = Cause::kHangup;
      finding.code = static_cast<int>(ExitCode::kStoppedWithoutSave);
      break;
    case SIGTERM:
    case SIGINT:
      finding.cause = Cause::kStopped;
      finding.code = static_cast<int>(ExitCode::kStoppedWithoutSave);
      break;
    case SIGBUS:
      finding.code = static_cast<int>(ExitCode::kSharedMemory);
      break;
    default:
      break;
  }
  return finding;
}

Finding bus_without_record(const Evidence& at) {
  Finding finding = from_signal(SIGBUS);
  if (at.shm && at.shm.value.free < (1 << 20)) {
    finding.cause = Cause::kSharedMemory;
    finding.certainty = Certainty::kLikely;
    finding.evidence.push_back("/dev/shm has " + base::human_bytes(at.shm.value.free) + " free of " +
                               base::human_bytes(at.shm.value.total));
  }
  return finding;
}

std::optional<Finding> find_reboot(const Evidence& at) {
  if (!at.recording || at.boot_id.empty() || at.recording.value.attempt.boot_id.view().empty() || same_boot(at))
    return std::nullopt;
  Finding finding{
      Cause::kReboot, Certainty::kLikely, "the machine was restarted while the run was up, or after it died", {}, {}};
  finding.evidence.push_back("recorder: boot id " + std::string(at.recording.value.attempt.boot_id.view()) + ", now " +
                             at.boot_id);
  if (at.trace.checkpoint < 0) finding.code = static_cast<int>(ExitCode::kStoppedWithoutSave);
  return finding;
}

/// A stop was asked for and the process did not live to tell what came of it.
std::optional<Finding> find_unfinished_stop(const Evidence& at) {
  if (!at.recording || !at.recording.value.stop) return std::nullopt;
  const std::string why(at.recording.value.stop->why.view());
  const bool hangup = why.find("SIGHUP") != std::string::npos;
  return Finding{hangup ? Cause::kHangup : Cause::kStopped,
                 Certainty::kLikely,
                 "asked to stop (" + why + ") and killed before that was done",
                 {"recorder: stop asked for: " + why},
                 static_cast<int>(ExitCode::kStoppedWithoutSave)};
}

/// The recorder's own thread went on for long after the training thread's last sign.
std::optional<Finding> find_silent_hang(const Evidence& at) {
  const Sample* last = last_sample(at);
  if (last == nullptr || !at.recording.value.live || at.recording.value.attempt.hang_seconds <= 0) return std::nullopt;
  const std::int64_t quiet = (last->monotonic - at.recording.value.live->monotonic) / 1'000'000'000;
  if (quiet < at.recording.value.attempt.hang_seconds) return std::nullopt;
  return Finding{
      Cause::kHang,
      Certainty::kLikely,
      "no progress for " + base::human_duration(static_cast<double>(quiet)) + " before it was killed",
      {"recorder: the last sign of the training thread was " + std::string(sign_name(at.recording.value.live->sign))},
      {}};
}

Finding killed(const Evidence& at) {
  Finding finding{Cause::kKilled, Certainty::kUnclear, "", {}, {}};
  finding.sentence = signal_of(at) != 0 ? "killed by " + signal_name(signal_of(at)) + "; nothing tells by whom or why"
                                        : "it ended without a word; nothing tells why";
  if (signal_of(at) != 0) finding.evidence.push_back("wait status: " + signal_name(signal_of(at)));
  const Sample* last = last_sample(at);
  if (last != nullptr && last->memory_pressure != kUnknown && last->memory_pressure >= kHighPressure)
    finding.evidence.push_back("recorder: all tasks waited for memory " + std::to_string(last->memory_pressure / 100) +
                               " % of the last seconds: systemd-oomd may have killed it (see the journal)");
  if (system_kills(at) > 0)
    finding.evidence.push_back("/proc/vmstat: somebody on this machine was killed for memory meanwhile");
  if (at.kernel.access == Access::kForbidden)
    finding.evidence.push_back("the kernel's log may not be read by this user: an OOM kill would stand there");
  return finding;
}

}  // namespace

std::optional<Finding> find_host_oom(const Evidence& at) {
  if (signal_of(at) != 0 && signal_of(at) != SIGKILL) return std::nullopt;
  Finding finding{Cause::kHostMemory, Certainty::kEstablished, "killed by the kernel because memory ran out", {}, {}};
  if (at.kernel)
    for (const auto& event : at.kernel.value)
      if (event.kind == KernelEvent::Kind::kOomKill && event.pid == pid_of(at) && same_boot(at)) {
        finding.sentence += event.whole_system ? " on the whole machine" : " within its control group";
        finding.evidence.push_back("kernel: " + base::shortened(event.text, 240));
        return finding;
      }
  if (names_others_only(at)) return std::nullopt;
  std::string near;
  const bool was_near = was_near_limit(at, near);
  if (const auto more = group_kills(at); more > 0) {
    finding.evidence.push_back(at.group.source + ": " + std::to_string(more) +
                               " killed for memory since the last sample");
    if (was_near) finding.evidence.push_back("recorder and rusage: " + near);
    // The counter is that of the whole group: without a wait status another process may be meant.
    finding.certainty = signal_of(at) == SIGKILL && was_near ? Certainty::kEstablished : Certainty::kLikely;
    return finding;
  }
  if (system_kills(at) > 0 && was_near) {
    finding.certainty = Certainty::kLikely;
    finding.evidence.push_back("/proc/vmstat: " + std::to_string(system_kills(at)) +
                               " killed for memory since the last sample");
    finding.evidence.push_back("recorder and rusage: " + near);
    return finding;
  }
  return std::nullopt;
}

std::optional<Finding> find_driver(const Evidence& at) {
  if (at.gpu && at.gpu.value.status == 18)
    return Finding{Cause::kDriverMismatch,
                   Certainty::kEstablished,
                   "the GPU driver and its library have different versions",
                   {"NVML: status 18, driver and library do not match" +
                    (at.driver ? "; the kernel has " + at.driver.value : std::string())},
                   {}};
  if (at.gpu && at.driver && !at.gpu.value.driver.empty() && at.gpu.value.driver != at.driver.value)
    return Finding{Cause::kDriverMismatch,
                   Certainty::kLikely,
                   "the GPU driver and its library have different versions",
                   {"kernel: driver " + at.driver.value + "; NVML: " + at.gpu.value.driver},
                   {}};
  if (at.gpu && at.gpu.value.status != 0)
    return Finding{Cause::kGpuMissing,
                   Certainty::kEstablished,
                   "no usable GPU driver",
                   {"NVML: status " + std::to_string(at.gpu.value.status)},
                   {}};
  return std::nullopt;
}

std::optional<Finding> find_gpu_fault(const Evidence& at) {
  if (!at.recording || !at.recording.value.attempt.device.view().starts_with("cuda")) return std::nullopt;
  Finding finding{Cause::kGpuFault, Certainty::kEstablished, "the GPU reported a fault", {}, {}};
  if (at.kernel)
    for (const auto& event : at.kernel.value)
      if (event.kind == KernelEvent::Kind::kXid && (event.pid == pid_of(at) || event.pid == 0)) {
        static constexpr std::array<std::int64_t, 3> kOfApplication = {13, 31, 43};
        if (std::ranges::find(kOfApplication, event.xid) != kOfApplication.end()) {
          finding.cause = Cause::kCrash;
          finding.sentence = "the program made a fault on the GPU (XID " + std::to_string(event.xid) + ")";
        } else {
          finding.sentence = "the GPU reported XID " + std::to_string(event.xid);
        }
        if (event.pid == 0) finding.certainty = Certainty::kLikely;
        finding.evidence.push_back("kernel: " + base::shortened(event.text, 240));
        return finding;
      }
  const Sample* last = last_sample(at);
  if (last != nullptr && last->gpu.last_xid != kUnknown) {
    finding.certainty = Certainty::kLikely;
    finding.sentence = "the GPU reported XID " + std::to_string(last->gpu.last_xid);
    finding.evidence.push_back("recorder: NVML event XID " + std::to_string(last->gpu.last_xid));
    return finding;
  }
  if (at.gpu)
    for (const auto& gpu : at.gpu.value.gpus)
      if (gpu.status == 15 || gpu.status == 16) {
        finding.sentence = gpu.status == 15 ? "the GPU is lost" : "the GPU must be reset";
        finding.certainty = Certainty::kLikely;
        finding.evidence.push_back("NVML: status " + std::to_string(gpu.status));
        return finding;
      }
  return std::nullopt;
}

std::optional<Finding> find_full_disk(const Evidence& at) {
  const Sample* last = last_sample(at);
  if (last == nullptr || !at.output || at.output.value.free >= kNoRoom) return std::nullopt;
  if (last->disk_free == kUnknown || last->disk_free >= kNoRoom) return std::nullopt;
  return Finding{
      Cause::kDiskFull,
      Certainty::kLikely,
      "the disk of the run was full, so that its last word found no room",
      {"recorder: " + base::human_bytes(last->disk_free) + " free, now " + base::human_bytes(at.output.value.free)},
      {}};
}

Finding from_silence(const Evidence& at) {
  const int signal = signal_of(at);
  if (auto reboot = find_reboot(at)) return *reboot;
  if (signal == SIGBUS) return bus_without_record(at);
  if (signal != 0 && signal != SIGKILL) return from_signal(signal);
  if (auto oom = find_host_oom(at)) return *oom;
  if (auto gpu = find_gpu_fault(at)) return *gpu;
  if (auto hang = find_silent_hang(at)) return *hang;
  if (auto stop = find_unfinished_stop(at)) return *stop;
  if (auto full = signal == 0 ? find_full_disk(at) : std::nullopt) return *full;
  return killed(at);
}

}  // namespace holdfast::supervise
