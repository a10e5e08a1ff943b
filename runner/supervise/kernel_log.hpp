// What the kernel's log tells of a process's death: records of /dev/kmsg into the few kinds that matter. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::supervise {

struct KernelEvent {
  enum class Kind { kOomKill, kXid, kFileSystem, kHungTask, kSegfault };
  Kind kind{};
  std::int64_t microseconds = 0;  ///< since boot, as the record tells
  std::int64_t pid = 0;           ///< 0: the line names none
  std::int64_t xid = 0;
  bool whole_system = false;  ///< kOomKill: not for the limit of a control group
  std::string group;          ///< kOomKill: the control group whose limit was met
  std::string text;           ///< the line
};

/// Only records of the kernel itself (facility 0): anybody who may write /dev/kmsg writes as facility "user". Lines
/// that do not parse are passed over; at most 1000 events, the newest.
std::vector<KernelEvent> kernel_events(std::string_view records);

}  // namespace holdfast::supervise
