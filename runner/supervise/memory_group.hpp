// The memory control group of a process, version 1 or 2, and its figures. Knows no run.
#pragma once

#include <cstdint>
#include <string>

#include "supervise/system.hpp"

namespace holdfast::supervise {

/// Folder of the group's files for this process: from /proc/self/cgroup and /proc/self/mountinfo (cgroups(7)), version
/// 2 first where its memory controller is there, else version 1. Empty where neither is found.
std::string find_memory_group(const System& system);

struct MemoryGroup {
  std::int64_t usage = 0;   ///< bytes, page cache included
  std::int64_t limit = -1;  ///< the smallest of it and the groups above; negative: none
  std::int64_t kills = 0;   ///< processes killed for memory in it and below
  std::string limited_by;   ///< folder of the group with that limit
};

/// Forbidden or absent where its files are.
Found<MemoryGroup> read_memory_group(const System& system, const std::string& folder);

/// "oom_kill" of /proc/vmstat: processes killed for memory since boot.
Found<std::int64_t> read_system_kills(const System& system);

/// The number in a line "NAME VALUE" (or "NAME: VALUE kB", then in bytes) of a text; negative when there is none.
std::int64_t line_value(std::string_view text, std::string_view name);

}  // namespace holdfast::supervise
