// What the control groups of this process leave it of memory. Linux cgroups v1 and v2, mixed too. Knows no allocator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::base {

struct GroupMemory {
  std::int64_t used = 0;  ///< bytes of the whole group, without page cache of files
  std::int64_t limit = 0;
  std::string group;  ///< its folder
};

/// Finds the groups once; a process that is moved to others later is not followed.
/// Sources: cgroups(7), Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst of Linux.
class CgroupMemory {
 public:
  /// `root` stands before every path (for tests). What cannot be read counts as absent.
  explicit CgroupMemory(const std::string& root = "");
  /// Of the groups with a limit, from the process's own up to the root of the hierarchy, the one that is fullest: where
  /// memory will run out first. Empty without a limit. Reads two or three small files a group.
  [[nodiscard]] std::optional<GroupMemory> fullest() const;

 private:
  struct Group {
    std::string folder;
    bool v2;
  };
  void find(const std::string& root, const std::string& mount, const std::string& mounted, const std::string& own,
            bool v2);

  std::vector<Group> groups_;
};

}  // namespace holdfast::base
