// Two slots: the one that is not current is filled, then made current. Whoever speaks first forbids further filling, so
// the slot that is read is never written. signal-safety(7) allows open, write, rename, clock_gettime.
#include "telemetry/last_words.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "holdfast/exit_code.hpp"

namespace holdfast::telemetry {
namespace {

/// Bytes without an allocation. Text that does not fit makes it overflowed, and then it is not used.
template <std::size_t kRoom>
struct Room {
  std::array<char, kRoom> bytes{};
  std::size_t size = 0;
  bool overflowed = false;

  void clear() { size = 0, overflowed = false; }
  void add(std::string_view text) {
    if (text.size() > kRoom - size) return void(overflowed = true);
    std::memcpy(bytes.data() + size, text.data(), text.size());
    size += text.size();
  }
  void add_number(long long value, int width = 1) {
    std::array<char, 24> digits{};
    std::size_t at = digits.size();
    const std::size_t least = digits.size() - static_cast<std::size_t>(width);
    for (long long rest = value; rest > 0 || at > least; rest /= 10) digits[--at] = static_cast<char>('0' + rest % 10);
    add({digits.data() + at, digits.size() - at});
  }
  /// As a JSON string; what would need more than a backslash becomes a question mark.
  void add_quoted(std::string_view text) {
    add("\"");
    for (const char c : text) {
      if (c == '"' || c == '\\') add("\\");
      const char shown = static_cast<unsigned char>(c) < 0x20 ? '?' : c;
      add({&shown, 1});
    }
    add("\"");
  }
  [[nodiscard]] std::string_view text() const { return {bytes.data(), size}; }
};

constexpr std::size_t kPath = 4096, kStatus = 32 * 1024;

struct Slot {
  Room<kPath> status, fresh, events;   // paths, each with its final zero
  std::array<Room<kStatus>, 5> parts;  // of status.json, around four values
  Room<256> event;                     // the beginning of the "end" event after its time
};

Slot slots[2];
std::atomic<int> current{-1};
std::atomic<bool> spoken{false};

void put_path(Room<kPath>& room, const std::string& folder, std::string_view name) {
  room.clear();
  room.add(folder);
  room.add(name);
  room.add({"\0", 1});
}

/// Cuts the JSON text around the values of four top-level keys. Inside a string a line break is escaped, so a key at
/// the beginning of a line is a key.
bool cut(const std::string& text, std::array<Room<kStatus>, 5>& parts) {
  std::size_t at = 0, part = 0;
  for (const std::string_view key :
       {"\n  \"state\": ", "\n  \"exit_code\": ", "\n  \"cause\": ", "\n  \"ended_at\": "}) {
    const std::size_t found = text.find(key, at);
    if (found == std::string::npos) return false;
    parts[part].clear();
    parts[part++].add(std::string_view(text).substr(at, found + key.size() - at));
    at = text.find('\n', found + key.size());
    if (at == std::string::npos) return false;
    if (text[at - 1] == ',') --at;
  }
  parts[part].clear();
  parts[part].add(std::string_view(text).substr(at));
  return true;
}

bool fits(const Slot& slot) {
  return !slot.status.overflowed && !slot.fresh.overflowed && !slot.events.overflowed && !slot.event.overflowed &&
         std::none_of(slot.parts.begin(), slot.parts.end(), [](const auto& part) { return part.overflowed; });
}

/// RFC 3339 in UTC, to the second. The date by Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
template <std::size_t kRoom>
void add_time(Room<kRoom>& room) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const long long shifted = now.tv_sec / 86400 + 719468, second = now.tv_sec % 86400;
  const long long era = shifted / 146097, day_of_era = shifted % 146097;
  const long long year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
  const long long day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const long long month_from_march = (5 * day_of_year + 2) / 153;
  const long long month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
  room.add("\"");
  room.add_number(year_of_era + era * 400 + (month <= 2 ? 1 : 0), 4), room.add("-");
  room.add_number(month, 2), room.add("-");
  room.add_number(day_of_year - (153 * month_from_march + 2) / 5 + 1, 2), room.add("T");
  room.add_number(second / 3600, 2), room.add(":");
  room.add_number(second / 60 % 60, 2), room.add(":");
  room.add_number(second % 60, 2), room.add("Z\"");
}

bool write_all(int file, std::string_view text) {
  return ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// `values` go between the parts.
void write_status_of(const Slot& slot, const std::array<std::string_view, 4>& values) {
  const int file =
      ::open(slot.fresh.bytes.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (file < 0) return;
  bool whole = write_all(file, slot.parts[0].text());
  for (std::size_t i = 0; i < values.size(); ++i)
    whole = whole && write_all(file, values[i]) && write_all(file, slot.parts[i + 1].text());
  ::close(file);
  if (whole) (void)::rename(slot.fresh.bytes.data(), slot.status.bytes.data());
}

}  // namespace

void prepare_last_words(const std::string& generation_folder, const Status& status) noexcept {
  if (spoken) return;
  const int next = current == 0 ? 1 : 0;
  Slot& slot = slots[next];
  try {
    put_path(slot.status, generation_folder, "/status.json");
    put_path(slot.fresh, generation_folder, "/.status.json.last");
    put_path(slot.events, generation_folder, "/events.jsonl");
    slot.event.clear();
    slot.event.add(",\"event\":\"end\",\"attempt\":");
    slot.event.add_number(status.attempt);
    slot.event.add(",\"update\":");
    slot.event.add_number(status.update);
    slot.event.add(",\"exit_code\":");
    if (cut(to_json(status), slot.parts) && fits(slot)) current = next;
  } catch (const std::exception&) {
    // No memory for the text: the words of the last publication stay.
  }
}

void forget_last_words() noexcept { current = -1; }

void speak_last_words(int exit_code, std::string_view cause) noexcept {
  if (spoken.exchange(true)) return;
  const int which = current;
  if (which < 0) return;
  const Slot& slot = slots[which];
  const std::string_view state =
      exit_code == static_cast<int>(ExitCode::kStoppedAfterSave) ? "\"stopped\"" : "\"failed\"";
  Room<1024> code, reason, ended;
  code.add_number(exit_code);
  reason.add_quoted(cause.substr(0, 400));
  add_time(ended);
  write_status_of(slot, {state, code.text(), reason.text(), ended.text()});

  static Room<4096> line;
  line.add("{\"time\":");
  line.add(ended.text());
  line.add(slot.event.text());
  line.add(code.text());
  line.add(",\"state\":");
  line.add(state);
  line.add(",\"reason\":");
  line.add(reason.text());
  line.add("}\n");
  const int file = ::open(slot.events.bytes.data(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  (void)write_all(file, line.text());
  ::close(file);
}

}  // namespace holdfast::telemetry
