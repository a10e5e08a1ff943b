// Rules on what the process itself said: its last word in status.json, and the crash that its recorder kept.
#include <string.h>

#include <array>
#include <csignal>

#include "base/text.hpp"
#include "supervise/finding.hpp"

namespace holdfast::supervise {
namespace {

constexpr std::int64_t kNearlyNothing = 1 << 20;  // bytes

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// errno in an error's sentence, as base::io_error writes it.
Cause cause_of_io(std::string_view text, Cause otherwise) {
  struct Name {
    std::string_view mark;
    Cause cause;
  };
  static constexpr std::array<Name, 9> kNames = {{{"(ENOSPC)", Cause::kDiskFull},
                                                  {"(EDQUOT)", Cause::kDiskFull},
                                                  {"[output.space]", Cause::kDiskFull},
                                                  {"(EFBIG)", Cause::kFileSize},
                                                  {"(EROFS)", Cause::kReadOnly},
                                                  {"(EMFILE)", Cause::kDescriptors},
                                                  {"(ENFILE)", Cause::kDescriptors},
                                                  {"(EAGAIN)", Cause::kDescriptors},
                                                  {"(EIO)", Cause::kIo}}};
  for (const auto& [mark, cause] : kNames)
    if (has(text, mark)) return cause;
  return otherwise;
}

Cause cause_of_stop(std::string_view why) {
  if (why.starts_with("memory guard:")) return Cause::kGuard;
  if (why.starts_with("preemption notice:")) return Cause::kPreempted;
  if (has(why, "SIGXCPU")) return Cause::kCpuLimit;
  if (has(why, "SIGHUP")) return Cause::kHangup;
  return Cause::kStopped;
}

const Sample* last_sample(const Evidence& at) {
  return at.recording && !at.recording.value.samples.empty() ? &at.recording.value.samples.back() : nullptr;
}

/// Memory refused to a process that has a limit of its own while the machine had plenty.
bool is_address_space(const Evidence& at) {
  if (!at.recording || at.recording.value.attempt.limit_address_space == kUnknown) return false;
  const Sample* last = last_sample(at);
  return last == nullptr || last->available == kUnknown ||
         last->available > at.recording.value.attempt.memory_total / 20;
}

Finding host_memory(const Evidence& at) {
  Finding finding{Cause::kHostMemory, Certainty::kEstablished, "memory ran out: " + at.trace.cause, {}, 88};
  if (!is_address_space(at)) return finding;
  finding.cause = Cause::kAddressSpace;
  finding.evidence.push_back("recorder: the address space is limited to " +
                             base::human_bytes(at.recording.value.attempt.limit_address_space) + " (ulimit -v)");
  return finding;
}

Finding unavailable(const Evidence& at) {
  if (auto driver = find_driver(at)) return *driver;
  return {Cause::kGpuMissing, Certainty::kEstablished, at.trace.cause, {}, 69};
}

std::string crash_sentence(const Evidence& at, const Fatal& fault) {
  if (!at.trace.cause.empty() && has(at.trace.cause, "crashed")) return at.trace.cause;
  const std::string name = signal_name(static_cast<int>(fault.signal));
  if (fault.plugin.view().empty()) return "it crashed (" + name + ") outside any plugin call";
  return "plugin '" + std::string(fault.plugin.view()) + "': " + std::string(fault.call.view()) + " crashed (" + name +
         ")";
}

Finding bus_error(const Evidence& at, const Fatal& fault, Finding crash) {
  const std::string_view mapping = fault.mapping.view();
  const Sample* last = last_sample(at);
  if (mapping.starts_with("/dev/shm/") || mapping.starts_with("/SYSV") || mapping.starts_with("/memfd:")) {
    crash.cause = Cause::kSharedMemory;
    crash.code = 85;
    crash.sentence = "SIGBUS in shared memory (" + std::string(mapping) + ")";
  } else if (!mapping.empty() && mapping[0] == '/') {
    crash.cause = Cause::kMappedFile;
    crash.code = 74;
    crash.sentence = "SIGBUS in the mapped file " + std::string(mapping);
  } else if (last != nullptr && last->shm_free != kUnknown && last->shm_free < kNearlyNothing) {
    crash.cause = Cause::kSharedMemory;
    crash.certainty = Certainty::kLikely;
    crash.code = 85;
  } else {
    return crash;
  }
  if (last != nullptr && last->shm_free != kUnknown)
    crash.evidence.push_back("recorder: /dev/shm had " + base::human_bytes(last->shm_free) + " free of " +
                             base::human_bytes(last->shm_total));
  return crash;
}

Finding bug(const Evidence& at) {
  if (auto fatal = from_fatal(at)) return *fatal;
  const std::string& text = at.trace.cause;
  if (has(text, "crashed (SIG")) return {Cause::kCrash, Certainty::kEstablished, text, {}, 70};
  return {has(text, "plugin '") ? Cause::kPluginError : Cause::kBug, Certainty::kEstablished, text, {}, 70};
}

}  // namespace

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

std::optional<Finding> find_hang(const Evidence& at) {
  const bool killed = at.trace.ending && at.trace.ending->hung;
  if (!killed && (!at.stacks || at.trace.state != "running")) return std::nullopt;
  Finding finding{
      Cause::kHang, killed ? Certainty::kEstablished : Certainty::kLikely, "no progress for too long", {}, {}};
  if (at.recording && at.recording.value.live) {
    const Live& live = *at.recording.value.live;
    finding.sentence +=
        " while " + std::string(phase_name(live.phase)) + ", after update " + std::to_string(live.update);
    finding.evidence.push_back("recorder: the last sign was " + std::string(sign_name(live.sign)));
  }
  if (killed) finding.evidence.push_back("supervisor: killed it for that");
  if (at.stacks) {
    const auto begin = at.stacks.value.find('\n');
    const auto line = begin == std::string::npos
                          ? ""
                          : at.stacks.value.substr(begin + 1, at.stacks.value.find('\n', begin + 1) - begin - 1);
    finding.evidence.push_back("stacks.txt: " + base::shortened(line, 200));
  }
  return finding;
}

Finding from_last_word(const Evidence& at) {
  const Trace& trace = at.trace;
  const int code = *trace.exit_code;
  Finding finding{cause_of_code(code), Certainty::kEstablished, trace.cause, {}, code};
  switch (static_cast<ExitCode>(code)) {
    case ExitCode::kStoppedAfterSave:
    case ExitCode::kStoppedWithoutSave:
      finding.cause = cause_of_stop(trace.cause);
      break;
    case ExitCode::kIoError:
    case ExitCode::kCannotCreate:
      finding.cause = cause_of_io(trace.cause, finding.cause);
      break;
    case ExitCode::kHostOutOfMemory:
      finding = host_memory(at);
      break;
    case ExitCode::kUnavailable:
      finding = unavailable(at);
      break;
    case ExitCode::kBug:
      finding = bug(at);
      break;
    case ExitCode::kDeviceFault:
      if (auto gpu = find_gpu_fault(at)) finding.evidence = gpu->evidence;
      break;
    default:
      break;
  }
  if (finding.sentence.empty()) finding.sentence = cause_row(finding.cause).meaning;
  finding.evidence.insert(finding.evidence.begin(),
                          "status.json: " + trace.state + " with exit code " + std::to_string(code));
  if (at.recording && at.recording.value.shortage && finding.cause == Cause::kDeviceMemory)
    finding.evidence.push_back("recorder: memory ran out in " + std::string(at.recording.value.shortage->phase.view()) +
                               " of update " + std::to_string(at.recording.value.shortage->update));
  if (at.recording && at.recording.value.live && at.recording.value.live->bad_updates > 0 &&
      finding.cause == Cause::kDiverged)
    finding.evidence.push_back("recorder: the first bad update was " +
                               std::to_string(at.recording.value.live->first_bad_update) + ", of " +
                               std::to_string(at.recording.value.live->bad_updates) + " in this attempt");
  return finding;
}

std::optional<Finding> from_fatal(const Evidence& at) {
  if (!at.recording || !at.recording.value.fatal) return std::nullopt;
  const Fatal& fault = *at.recording.value.fatal;
  Finding crash{Cause::kCrash, Certainty::kEstablished, crash_sentence(at, fault), {}, 70};
  crash.evidence.push_back("recorder: " + signal_name(static_cast<int>(fault.signal)) +
                           (fault.mapping.view().empty() ? "" : " in " + std::string(fault.mapping.view())));
  if (fault.signal == SIGBUS) return bus_error(at, fault, std::move(crash));
  return crash;
}

Finding from_exit_code(const Evidence& at, int code) {
  if (code == static_cast<int>(ExitCode::kIoError))
    if (auto full = find_full_disk(at)) return *full;
  Finding finding{cause_of_code(code), Certainty::kEstablished, "", {}, code};
  finding.sentence = std::string(cause_row(finding.cause).meaning) + ", told before the run began";
  if (code == static_cast<int>(ExitCode::kStoppedAfterSave)) {
    finding.certainty = Certainty::kLikely;
    finding.sentence = "asked to stop before the run began, or another process holds the run's folder";
  }
  finding.evidence.push_back("exit code " + std::to_string(code));
  return finding;
}

}  // namespace holdfast::supervise
