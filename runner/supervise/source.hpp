// What a source of evidence gave: its value, nothing, or a refusal. A refusal never counts as "no".
#pragma once

#include <string>
#include <string_view>

namespace holdfast::supervise {

enum class Access { kValue, kAbsent, kForbidden, kBroken };

template <class T>
struct Found {
  Access access = Access::kAbsent;
  T value{};
  std::string source;  ///< a path or a name, for people
  std::string fault;   ///< kBroken: why

  explicit operator bool() const { return access == Access::kValue; }
};

constexpr std::string_view access_name(Access access) {
  switch (access) {
    case Access::kValue:
      return "value";
    case Access::kAbsent:
      return "absent";
    case Access::kForbidden:
      return "forbidden";
    case Access::kBroken:
      return "broken";
  }
  return "broken";
}

}  // namespace holdfast::supervise
