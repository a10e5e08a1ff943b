// One JSON object as a flat list of fields: a line of events.jsonl, or status.json. Knows no event. Private to this
// folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::report {

using Value = std::variant<std::nullptr_t, bool, std::int64_t, double, std::string>;

/// Fields in the order of the text; of a name that comes twice the last one counts.
class Record {
 public:
  std::vector<std::pair<std::string, Value>> fields;

  [[nodiscard]] const Value* find(std::string_view name) const;
  /// Empty when absent or of another type.
  [[nodiscard]] std::string text(std::string_view name) const;
  /// Integers too; none when absent, null or of another type.
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t fallback = 0) const;
  [[nodiscard]] bool flag(std::string_view name) const;
};

/// Fields of objects inside are named "outer.inner", arrays are left out. None when `json` is no object of strict JSON
/// or is nested deeper than 8.
std::optional<Record> read_record(std::string_view json);

/// A value as people read it: "0.1234", "yes", "-" for null.
std::string value_text(const Value& value);

}  // namespace holdfast::report
