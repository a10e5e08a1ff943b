// Control groups in trees that the test writes: v1, v2, both mounted, a container's view, damage.
#include "base/cgroup_memory.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "temp_folder.hpp"

using holdfast::base::CgroupMemory;
using holdfast::test::TempFolder;

namespace {

struct Tree {
  Tree& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder / path).parent_path());
    std::ofstream(folder / path) << text;
    return *this;
  }
  Tree& v1(const std::string& own) {
    file("proc/self/cgroup", "9:name=systemd:/\n4:memory:" + own + "\n0::/\n");
    return file("proc/self/mountinfo",
                "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
                "32 31 0:29 / /cg/cpu rw,relatime - cgroup cgroup rw,cpu\n"
                "35 31 0:32 / /cg/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n");
  }
  Tree& v2(const std::string& own, const std::string& mounted = "/") {
    file("proc/self/cgroup", "0::" + own + "\n");
    return file("proc/self/mountinfo", "41 31 0:38 " + mounted + " /cg rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  Tree& group(const std::string& path, const std::string& limit, const std::string& used, const std::string& stat) {
    file(path + "/memory.max", limit + "\n").file(path + "/memory.current", used + "\n");
    return file(path + "/memory.stat", stat);
  }
  [[nodiscard]] std::string seen() const {
    const auto found = CgroupMemory(folder.path()).fullest();
    if (!found) return "none";
    return std::to_string(found->used) + " of " + std::to_string(found->limit) + " in " +
           found->group.substr(folder.path().size());
  }
  TempFolder folder;
};

}  // namespace

TEST_CASE("v1: usage without page cache against the limit; shared memory counts; nearly 2^63 is no limit") {
  Tree tree;
  tree.v1("/jobs/a")
      .file("cg/memory/memory.limit_in_bytes", "9223372036854771712\n")
      .file("cg/memory/jobs/memory.limit_in_bytes", "9223372036854771712\n")
      .file("cg/memory/jobs/a/memory.limit_in_bytes", "67108864\n")
      .file("cg/memory/jobs/a/memory.usage_in_bytes", "50000000\n")
      .file("cg/memory/jobs/a/memory.stat",
            "cache 9000000\nshmem 2000000\ninactive_file 1\ntotal_cache 9000000\ntotal_shmem 2000000\n"
            "total_inactive_file 3000000\ntotal_active_file 4000000\n");
  CHECK(tree.seen() == "43000000 of 67108864 in /cg/memory/jobs/a");
}

TEST_CASE("v2: the fullest group of the ancestry counts, whose limit need not be the smallest") {
  Tree tree;
  tree.v2("/pod/job")
      .group("cg/pod/job", "1000", "500", "anon 400\ninactive_file 60\nactive_file 40\n")
      .group("cg/pod", "2000", "1900", "anon 1800\ninactive_file 50\nactive_file 50\n");
  CHECK(tree.seen() == "1800 of 2000 in /cg/pod");
  tree.group("cg/pod", "max", "1900", "");
  CHECK(tree.seen() == "400 of 1000 in /cg/pod/job");
}

TEST_CASE("a container sees its own group as the root of what is mounted") {
  Tree inside;
  inside.v2("/").group("cg", "1000", "700", "inactive_file 100\n");
  CHECK(inside.seen() == "600 of 1000 in /cg");
  Tree bound;  // the host's path, and the mount begins at that group
  bound.v2("/docker/abc", "/docker/abc").group("cg", "1000", "700", "");
  CHECK(bound.seen() == "700 of 1000 in /cg");
  Tree outside;
  outside.v2("/../other").group("cg", "1000", "700", "");
  CHECK(outside.seen() == "700 of 1000 in /cg");
}

TEST_CASE("without a limit, without files, or with files that say nothing, there is nothing to guard") {
  CHECK(Tree().seen() == "none");
  CHECK(Tree().v2("/a").seen() == "none");
  CHECK(Tree().v2("/a").group("cg/a", "max", "1", "").seen() == "none");
  CHECK(Tree().v2("/a").group("cg/a", "-7", "1", "").seen() == "none");
  CHECK(Tree().v2("/a").group("cg/a", "10 %", "x", "\xff\xfe").seen() == "none");
  CHECK(
      Tree().file("proc/self/cgroup", "no colons\n::::\n\n").file("proc/self/mountinfo", "- \n - \n a - b\n").seen() ==
      "none");
  CHECK(Tree().v2("/a").group("cg/a", "10", "5", "inactive_file 99\n").seen() == "0 of 10 in /cg/a");
}

TEST_CASE("the groups of this process can be looked for without fault") {
  const auto found = CgroupMemory().fullest();
  if (found) CHECK(found->limit > 0);
}
