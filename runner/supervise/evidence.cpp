// What belongs to another attempt or to the time before this one is taken out here.
#include "supervise/evidence.hpp"

#include <cctype>
#include <limits>

#include "supervise/surroundings.hpp"

namespace holdfast::supervise {
namespace {

// Samples come each second; a machine without memory may hold the last ones up. Much later the number of the process
// may belong to another one.
constexpr std::int64_t kAfterLastSampleNs = 120'000'000'000;
constexpr std::int64_t kClockSlackNs = 2'000'000'000;  // printk's clock and CLOCK_MONOTONIC differ a little

Found<Recording> own_recording(const Trace& trace) {
  auto found = read_recording(trace.generation + "/" + kRecorderFile);
  const std::int64_t pid = trace.ending ? trace.ending->pid : trace.pid;
  if (found && found.value.attempt.pid != pid) {
    found.access = Access::kBroken;
    found.fault =
        "it is that of process " + std::to_string(found.value.attempt.pid) + ", not of " + std::to_string(pid);
  }
  return found;
}

Found<std::vector<KernelEvent>> own_kernel(const System& system, const Found<Recording>& recording, bool same_boot) {
  const auto log = system.kernel_log();
  Found<std::vector<KernelEvent>> found;
  found.access = log.access;
  found.source = "the kernel's log (" + log.source + ")";
  found.fault = log.fault;
  if (!log) return found;
  std::int64_t since = 0, until = std::numeric_limits<std::int64_t>::max();
  if (recording && same_boot) {
    since = recording.value.attempt.monotonic - kClockSlackNs;
    if (!recording.value.samples.empty()) until = recording.value.samples.back().monotonic + kAfterLastSampleNs;
  }
  for (auto& event : kernel_events(log.value))
    if (event.microseconds >= since / 1000 && event.microseconds <= until / 1000)
      found.value.push_back(std::move(event));
  return found;
}

/// The first line of stacks.txt is "process PID ...".
Found<std::string> own_stacks(const System& system, const Trace& trace) {
  auto found = system.text(trace.generation + "/" + kStacksFile, 65536);
  const std::int64_t pid = trace.ending ? trace.ending->pid : trace.pid;
  if (found && !found.value.starts_with("process " + std::to_string(pid) + " ")) found.access = Access::kAbsent;
  return found;
}

}  // namespace

std::string driver_version(std::string_view text) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar ..."
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (std::isdigit(static_cast<unsigned char>(text[at])) == 0 || (at > 0 && text[at - 1] != ' ')) continue;
    std::size_t end = at;
    bool dotted = false;
    for (; end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.'); ++end)
      dotted = dotted || text[end] == '.';
    if (dotted) return std::string(text.substr(at, end - at));
    at = end;
  }
  return {};
}

Evidence collect(const System& system, Trace trace) {
  Evidence evidence;
  evidence.wall = system.wall();
  evidence.boot_id = boot_id(system);
  if (!trace.generation.empty()) {
    evidence.recording = own_recording(trace);
    evidence.stacks = own_stacks(system, trace);
    evidence.output = system.room(trace.generation);
  }
  const auto& recording = evidence.recording;
  const bool same_boot = recording && recording.value.attempt.boot_id.view() == evidence.boot_id;
  evidence.group =
      read_memory_group(system, recording ? std::string(recording.value.attempt.memory_group.view()) : std::string());
  evidence.system_kills = read_system_kills(system);
  evidence.kernel = own_kernel(system, recording, same_boot);
  evidence.shm = system.room("/dev/shm");
  evidence.gpu = system.gpus();
  evidence.driver = system.text("/proc/driver/nvidia/version", 4096);
  if (evidence.driver) evidence.driver.value = driver_version(evidence.driver.value);
  evidence.trace = std::move(trace);
  return evidence;
}

}  // namespace holdfast::supervise
