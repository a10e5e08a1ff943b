// The order of the rules is the order of events: what the run itself said last, what its recorder kept, what its parent
// and the kernel saw; what came after (a kill that followed a hang) never wins over what came first.
#include "supervise/verdict.hpp"

#include <string.h>

#include <csignal>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "supervise/finding.hpp"

namespace holdfast::supervise {
namespace {

std::string time_text(std::int64_t wall_ns) {
  return base::rfc3339_utc(
      base::WallTime(std::chrono::duration_cast<base::WallTime::duration>(std::chrono::nanoseconds(wall_ns))));
}

template <class T>
void tell_unread(const Found<T>& found, const std::string& name, Verdict& into) {
  if (found || found.access == Access::kAbsent) return;
  into.unread.push_back(name + ": " + std::string(access_name(found.access)) +
                        (found.fault.empty() ? "" : " (" + found.fault + ")"));
}

void tell_sources(const Evidence& at, Verdict& into) {
  const std::string group = "memory control group (" + at.group.source + ")";
  if (at.recording.access == Access::kAbsent)
    into.unread.push_back("recorder.bin: absent");
  else
    tell_unread(at.recording, "recorder.bin", into);
  if (at.group.access == Access::kAbsent)
    into.unread.push_back(at.group.source + ": absent");
  else
    tell_unread(at.group, group, into);
  tell_unread(at.kernel, at.kernel.source, into);
  tell_unread(at.system_kills, "/proc/vmstat", into);
  tell_unread(at.driver, "/proc/driver/nvidia/version", into);
  if (at.trace.state.empty()) into.unread.push_back("status.json: absent or not readable");
}

void tell_place(const Evidence& at, Verdict& into) {
  const Trace& trace = at.trace;
  into.generation = trace.generation;
  into.state = trace.state;
  into.attempt = trace.attempt;
  into.pid = trace.ending ? trace.ending->pid : trace.pid;
  into.update = trace.update;
  into.checkpoint = trace.checkpoint;
  into.last_seen = trace.ended_at.empty() ? trace.updated_at : trace.ended_at;
  if (!at.recording) return;
  const Recording& record = at.recording.value;
  if (record.live) {
    into.update = record.live->update;
    into.phase = phase_name(record.live->phase);
  }
  if (trace.ended_at.empty() && !record.samples.empty()) into.last_seen = time_text(record.samples.back().wall);
}

/// What slowed the GPU at last; bits of nvml.h.
void tell_heat(const Evidence& at, Verdict& into) {
  if (!at.recording || at.recording.value.samples.empty()) return;
  const Gpu& gpu = at.recording.value.samples.back().gpu;
  if (gpu.clock_reasons == kUnknown) return;
  const std::string heat =
      gpu.temperature_celsius == kUnknown ? "" : " at " + std::to_string(gpu.temperature_celsius) + " C";
  if ((gpu.clock_reasons & 0x40) != 0) into.evidence.push_back("recorder: the GPU slowed itself for heat" + heat);
  if ((gpu.clock_reasons & 0x80) != 0) into.evidence.push_back("recorder: a power brake slowed the GPU" + heat);
  if ((gpu.clock_reasons & 0x20) != 0) into.evidence.push_back("recorder: the driver slowed the GPU for heat" + heat);
}

Finding nothing_to_explain(const Evidence& at) {
  const Trace& trace = at.trace;
  Finding finding{Cause::kNone, Certainty::kEstablished, "", {}};
  if (trace.generation.empty())
    finding.sentence = "nothing has run here yet";
  else if (trace.locked)
    finding.sentence = "still running: process " + std::to_string(trace.pid);
  else
    finding.sentence = "the run is finished" + (trace.cause.empty() ? "" : ": " + trace.cause);
  return finding;
}

Finding find(const Evidence& at) {
  const Trace& trace = at.trace;
  const bool at_end = !trace.ending || trace.ending->pid == trace.pid;
  if (trace.generation.empty() && !trace.ending) return nothing_to_explain(at);
  if (!trace.ending && (trace.locked || trace.state == "finished")) return nothing_to_explain(at);
  if (trace.ending && trace.ending->signal == 0 && trace.ending->code == 0)
    return {Cause::kNone,
            Certainty::kEstablished,
            "the run is finished" + (trace.cause.empty() ? "" : ": " + trace.cause),
            {}};
  if (auto hang = find_hang(at)) return *hang;
  if (at_end && trace.exit_code && trace.state != "running") return from_last_word(at);
  if (auto fault = from_fatal(at)) return *fault;
  if (trace.ending && trace.ending->signal == 0) return from_exit_code(at, trace.ending->code);
  return from_silence(at);
}

}  // namespace

std::string_view certainty_name(Certainty certainty) {
  return certainty == Certainty::kEstablished ? "established" : certainty == Certainty::kLikely ? "likely" : "unknown";
}

Verdict judge(const Evidence& evidence) {
  Verdict verdict;
  tell_place(evidence, verdict);
  Finding finding = find(evidence);
  const CauseRow& row = cause_row(finding.cause);
  verdict.cause = finding.cause;
  verdict.certainty = finding.certainty;
  verdict.sentence = std::move(finding.sentence);
  verdict.evidence = std::move(finding.evidence);
  verdict.exit_code = finding.code.value_or(static_cast<int>(row.code));
  verdict.advice = row.advice;
  if (evidence.trace.ending) verdict.signal = evidence.trace.ending->signal;
  if (verdict.cause == Cause::kNone) return verdict;
  tell_heat(evidence, verdict);
  tell_sources(evidence, verdict);
  return verdict;
}

}  // namespace holdfast::supervise
