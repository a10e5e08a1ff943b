// A record: "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT" (Documentation/ABI/testing/dev-kmsg). The texts are those of
// mm/oom_kill.c, kernel/hung_task.c, fs/, block/ and NVIDIA's "XID Errors" guide.
#include "supervise/kernel_log.hpp"

#include <charconv>
#include <optional>

namespace holdfast::supervise {
namespace {

constexpr std::size_t kMost = 1000, kLongest = 400;

/// The number after `mark`; none when it is not there.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view mark) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t value = 0;
  const auto* begin = text.data() + at + mark.size();
  const auto end = std::from_chars(begin, text.data() + text.size(), value);
  return end.ec == std::errc() ? std::optional(value) : std::nullopt;
}

std::string word_after(std::string_view text, std::string_view mark) {
  const auto at = text.find(mark);
  if (at == std::string_view::npos) return {};
  const auto rest = text.substr(at + mark.size());
  return std::string(rest.substr(0, rest.find_first_of(", )")));
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::optional<KernelEvent> event_of(std::string_view text) {
  using Kind = KernelEvent::Kind;
  KernelEvent event;
  event.text = text.substr(0, kLongest);
  if (text.starts_with("oom-kill:")) {
    event.kind = Kind::kOomKill;
    event.pid = number_after(text, ",pid=").value_or(0);
    event.whole_system = has(text, "constraint=CONSTRAINT_NONE") || has(text, "global_oom");
    event.group = word_after(text, "oom_memcg=");
    return event;
  }
  if (has(text, "Killed process ")) {
    event.kind = Kind::kOomKill;
    event.pid = number_after(text, "Killed process ").value_or(0);
    event.whole_system = !has(text, "emory cgroup out of memory");
    return event;
  }
  if (text.starts_with("NVRM: Xid")) {
    event.kind = Kind::kXid;
    event.xid = number_after(text, "): ").value_or(0);
    event.pid = number_after(text, "pid=").value_or(0);
    return event;
  }
  if (has(text, "emounting filesystem read-only") || has(text, "I/O error, dev ") ||
      has(text, "Buffer I/O error on dev")) {
    event.kind = Kind::kFileSystem;
    return event;
  }
  if (text.starts_with("INFO: task ") && has(text, " blocked for more than ")) {
    event.kind = Kind::kHungTask;
    event.pid = number_after(text.substr(std::min(text.find(':', 11), text.size())), ":").value_or(0);
    return event;
  }
  if (has(text, "segfault at ") && has(text, " ip ")) {
    event.kind = Kind::kSegfault;
    event.pid = number_after(text, "[").value_or(0);
    return event;
  }
  return std::nullopt;
}

std::optional<KernelEvent> read_record(std::string_view line) {
  const auto semicolon = line.find(';');
  if (semicolon == std::string_view::npos) return std::nullopt;
  const auto head = line.substr(0, semicolon);
  const auto priority = number_after(head, "");
  if (!priority || (*priority >> 3) != 0) return std::nullopt;
  const auto second = head.find(',', head.find(',') + 1);
  if (second == std::string_view::npos) return std::nullopt;
  auto event = event_of(line.substr(semicolon + 1));
  if (event) event->microseconds = number_after(head.substr(second), ",").value_or(0);
  return event;
}

}  // namespace

std::vector<KernelEvent> kernel_events(std::string_view records) {
  std::vector<KernelEvent> events;
  while (!records.empty()) {
    const auto end = std::min(records.find('\n'), records.size());
    // A continued line (" KEY=value") belongs to the record before it and tells nothing that is wanted here.
    if (auto event = read_record(records.substr(0, end))) events.push_back(*std::move(event));
    records.remove_prefix(std::min(end + 1, records.size()));
  }
  if (events.size() > kMost) events.erase(events.begin(), events.end() - kMost);
  return events;
}

}  // namespace holdfast::supervise
