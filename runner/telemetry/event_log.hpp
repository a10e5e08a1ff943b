// events.jsonl: strict JSON, one object a line, appended. Survives a full disk, a killed writer and NaN.
// Every event: time (RFC 3339, UTC), event, attempt; then its own fields. Non-finite numbers become null.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/folder.hpp"

namespace holdfast::telemetry {

using EventValue = std::variant<std::nullptr_t, bool, std::int64_t, double, std::string>;
using EventFields = std::vector<std::pair<std::string, EventValue>>;

/// One line of JSON without the new line.
std::string event_line(std::string_view time, std::string_view event, int attempt, const EventFields& fields);

/// Used by one thread. A line is written whole or not at all; what could not be written is counted and, when there is
/// room again, told in the file as {"event":"lost","lines":N}.
class EventLog {
 public:
  /// Opens for appending and removes half a line left by a killed writer. A file that cannot be opened makes every
  /// append fail; `failure()` says why.
  EventLog(const std::string& path, int attempt);

  bool append(std::string_view time, std::string_view event, const EventFields& fields) noexcept;
  [[nodiscard]] std::int64_t lost() const { return lost_total_; }
  /// The system's words of the last failure; empty when there was none.
  [[nodiscard]] const std::string& failure() const { return failure_; }

 private:
  bool write_line(const std::string& line);
  base::File file_;
  int attempt_ = 1;
  std::int64_t lost_pending_ = 0, lost_total_ = 0;
  std::string failure_;
};

}  // namespace holdfast::telemetry
