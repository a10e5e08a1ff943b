// /proc/self/cgroup says which group, /proc/self/mountinfo where it lies.
#include "base/cgroup_memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>

namespace holdfast::base {
namespace {

constexpr std::int64_t kUnlimited = std::int64_t{1} << 62;  // v1 writes "no limit" as nearly 2^63

std::optional<std::int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  if (!(file >> word)) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failure != std::errc{} || end != word.data() + word.size() || value < 0) return std::nullopt;  // "max" of v2 too
  return value;
}

/// Pages of files that the kernel gives up before it kills; those of tmpfs (shmem) are none.
std::int64_t page_cache(const std::string& stat, bool v2) {
  const std::string prefix = v2 ? "" : "total_";
  std::ifstream file(stat);
  std::string name;
  std::int64_t value = 0, sum = 0;
  while (file >> name >> value)
    if (name == prefix + "inactive_file" || name == prefix + "active_file") sum += value;
  return sum;
}

bool listed(std::string_view list, std::string_view word) {
  while (true) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

struct Membership {
  std::optional<std::string> v1, v2;  ///< path of the process's group in its hierarchy
};

Membership membership(const std::string& root) {
  Membership found;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) found.v2 = line.substr(second + 1);
    if (listed(controllers, "memory")) found.v1 = line.substr(second + 1);
  }
  return found;
}

/// "/a/b" of own "/x/a/b" mounted from "/x"; empty when the group lies outside of what is mounted (a container that
/// sees the host's paths): the mount itself is then the nearest group that can be seen.
std::string below(const std::string& mounted, const std::string& own) {
  if (own.find("/..") != std::string::npos) return "";
  if (mounted == "/") return own == "/" ? "" : own;
  if (own.compare(0, mounted.size(), mounted) != 0) return "";
  const std::string rest = own.substr(mounted.size());
  return rest.empty() || rest[0] == '/' ? rest : "";
}

}  // namespace

CgroupMemory::CgroupMemory(const std::string& root) {
  const Membership mine = membership(root);
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream left(line.substr(0, dash)), right(line.substr(dash + 3));
    std::string skipped, mounted, mount, type, source, options;
    left >> skipped >> skipped >> skipped >> mounted >> mount;
    right >> type >> source >> options;
    if (type == "cgroup2" && mine.v2) find(root, mount, mounted, *mine.v2, true);
    if (type == "cgroup" && mine.v1 && listed(options, "memory")) find(root, mount, mounted, *mine.v1, false);
  }
}

void CgroupMemory::find(const std::string& root, const std::string& mount, const std::string& mounted,
                        const std::string& own, bool v2) {
  std::string path = below(mounted, own);
  while (true) {
    groups_.push_back({root + mount + path, v2});
    if (path.empty()) return;
    path.erase(path.rfind('/'));
  }
}

std::optional<GroupMemory> CgroupMemory::fullest() const {
  std::optional<GroupMemory> found;
  for (const auto& [folder, v2] : groups_) {
    const auto limit = number_in(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
    if (!limit || *limit == 0 || *limit >= kUnlimited) continue;
    const auto charged = number_in(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
    if (!charged) continue;
    const std::int64_t used = std::max<std::int64_t>(0, *charged - page_cache(folder + "/memory.stat", v2));
    const auto share = [](std::int64_t part, std::int64_t whole) {
      return static_cast<double>(part) / static_cast<double>(whole);
    };
    if (!found || share(used, *limit) > share(found->used, found->limit)) found = GroupMemory{used, *limit, folder};
  }
  return found;
}

}  // namespace holdfast::base
