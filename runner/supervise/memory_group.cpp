// cgroups(7), proc(5); Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst for the files.
#include "supervise/memory_group.hpp"

#include <charconv>
#include <optional>
#include <sstream>
#include <vector>

namespace holdfast::supervise {
namespace {

constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // version 1 writes the largest page count instead of "max"

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  return end.ec == std::errc() ? std::optional(value) : std::nullopt;
}

struct Paths {
  std::string v1, v2;  ///< of this process within the hierarchies; empty: in none
};

Paths own_paths(const std::string& text) {
  Paths paths;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers == ",,") paths.v2 = line.substr(second + 1);
    if (controllers.find(",memory,") != std::string::npos) paths.v1 = line.substr(second + 1);
  }
  return paths;
}

struct Mounts {
  std::string v1, v1_root, v2, v2_root;
};

Mounts group_mounts(const std::string& text) {
  Mounts mounts;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto before = words_of(line.substr(0, dash)), after = words_of(line.substr(dash + 3));
    if (before.size() < 5 || after.size() < 3) continue;
    if (after[0] == "cgroup2") mounts.v2_root = before[3], mounts.v2 = before[4];
    if (after[0] == "cgroup" && ("," + after[2] + ",").find(",memory,") != std::string::npos)
      mounts.v1_root = before[3], mounts.v1 = before[4];
  }
  return mounts;
}

/// A container sees its own group as the root of the mount.
std::string below(const std::string& mount, const std::string& root, std::string path) {
  if (root != "/" && path.starts_with(root)) path = path.substr(root.size());
  if (path.empty() || path[0] != '/') path = "/" + path;
  return path == "/" ? mount : mount + path;
}

bool is_v2(const System& system, const std::string& folder) {
  return system.exists(folder + "/memory.events") || system.exists(folder + "/memory.current");
}

std::optional<std::int64_t> figure(const System& system, const std::string& path) {
  const auto text = system.text(path, 4096);
  return text ? number(text.value) : std::nullopt;
}

void smallest_limit(const System& system, std::string folder, const char* file, MemoryGroup& into) {
  while (folder.size() > 1 && system.exists(folder)) {
    const auto limit = figure(system, folder + file);
    if (limit && *limit < kNoLimit && (into.limit < 0 || *limit < into.limit)) {
      into.limit = *limit;
      into.limited_by = folder;
    }
    folder = folder.substr(0, folder.rfind('/'));
  }
}

}  // namespace

std::int64_t line_value(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.empty() || (line[0] != ' ' && line[0] != ':' && line[0] != '\t')) continue;
    line.remove_prefix(std::min(line.find_first_not_of(": \t"), line.size()));
    const auto value = number(line);
    if (value) return line.ends_with(" kB") ? *value * 1024 : *value;
  }
  return -1;
}

std::string find_memory_group(const System& system) {
  const auto own = system.text("/proc/self/cgroup"), mounted = system.text("/proc/self/mountinfo");
  if (!own || !mounted) return {};
  const Paths paths = own_paths(own.value);
  const Mounts mounts = group_mounts(mounted.value);
  if (!mounts.v2.empty() && !paths.v2.empty()) {
    const std::string folder = below(mounts.v2, mounts.v2_root, paths.v2);
    if (is_v2(system, folder)) return folder;
  }
  if (mounts.v1.empty() || paths.v1.empty()) return {};
  const std::string folder = below(mounts.v1, mounts.v1_root, paths.v1);
  return system.exists(folder) ? folder : std::string();
}

Found<MemoryGroup> read_memory_group(const System& system, const std::string& folder) {
  Found<MemoryGroup> found;
  found.source = folder.empty() ? "memory control group" : folder;
  if (folder.empty()) return found;
  const bool v2 = is_v2(system, folder);
  const auto events = system.text(folder + (v2 ? "/memory.events" : "/memory.oom_control"));
  found.access = events.access;
  found.source = events.source;
  found.fault = events.fault;
  if (!events) return found;
  found.value.kills = std::max<std::int64_t>(0, line_value(events.value, "oom_kill"));
  found.value.usage = figure(system, folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes")).value_or(0);
  smallest_limit(system, folder, v2 ? "/memory.max" : "/memory.limit_in_bytes", found.value);
  return found;
}

Found<std::int64_t> read_system_kills(const System& system) {
  const auto text = system.text("/proc/vmstat");
  Found<std::int64_t> found;
  found.access = text.access;
  found.source = text.source;
  found.fault = text.fault;
  if (!text) return found;
  found.value = line_value(text.value, "oom_kill");
  if (found.value < 0) found.access = Access::kAbsent;
  return found;
}

}  // namespace holdfast::supervise
