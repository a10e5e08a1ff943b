// Finding and reading the memory control group: versions 1 and 2, hybrids, containers.
#include "supervise/memory_group.hpp"

#include <doctest/doctest.h>

#include "fake_system.hpp"

using namespace holdfast::supervise;
using holdfast::test::FakeSystem;

namespace {

FakeSystem version_2() {
  FakeSystem system;
  system.files["/proc/self/cgroup"] = "0::/user/job\n";
  system.files["/proc/self/mountinfo"] = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
  system.files["/sys/fs/cgroup/user/job/memory.events"] = "low 0\nhigh 2\nmax 7\noom 3\noom_kill 2\noom_group_kill 0\n";
  system.files["/sys/fs/cgroup/user/job/memory.current"] = "1000000\n";
  system.files["/sys/fs/cgroup/user/job/memory.max"] = "max\n";
  system.files["/sys/fs/cgroup/user/memory.max"] = "2000000\n";
  return system;
}

}  // namespace

TEST_CASE("version 2: the group is found, and its limit is the smallest above it") {
  const FakeSystem system = version_2();
  const std::string folder = find_memory_group(system);
  CHECK(folder == "/sys/fs/cgroup/user/job");
  const auto group = read_memory_group(system, folder);
  REQUIRE(group);
  CHECK(group.value.kills == 2);
  CHECK(group.value.usage == 1000000);
  CHECK(group.value.limit == 2000000);
  CHECK(group.value.limited_by == "/sys/fs/cgroup/user");
}

TEST_CASE("version 1 and hybrid: the hierarchy with the memory controller counts") {
  FakeSystem system;
  system.files["/proc/self/cgroup"] = "9:name=systemd:/\n4:cpu,memory:/job\n0::/\n";
  system.files["/proc/self/mountinfo"] =
      "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n31 23 0:27 / /sys/fs/cgroup/memory rw - cgroup "
      "cgroup "
      "rw,cpu,memory\n";
  system.files["/sys/fs/cgroup/memory/job/memory.oom_control"] = "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n";
  system.files["/sys/fs/cgroup/memory/job/memory.usage_in_bytes"] = "300\n";
  system.files["/sys/fs/cgroup/memory/job/memory.limit_in_bytes"] = "400\n";
  system.files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "9223372036854771712\n";
  const std::string folder = find_memory_group(system);
  CHECK(folder == "/sys/fs/cgroup/memory/job");
  const auto group = read_memory_group(system, folder);
  REQUIRE(group);
  CHECK(group.value.kills == 5);
  CHECK(group.value.limit == 400);
}

TEST_CASE("a container sees its own group as the root of the mount") {
  FakeSystem system;
  system.files["/proc/self/cgroup"] = "0::/docker/abc\n";
  system.files["/proc/self/mountinfo"] = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
  system.files["/sys/fs/cgroup/memory.events"] = "oom_kill 1\n";
  CHECK(find_memory_group(system) == "/sys/fs/cgroup");
}

TEST_CASE("absent and forbidden are told apart") {
  FakeSystem system = version_2();
  CHECK(read_memory_group(system, "").access == Access::kAbsent);
  CHECK(read_memory_group(system, "/sys/fs/cgroup/gone").access == Access::kAbsent);
  system.forbidden.insert("/sys/fs/cgroup/user/job/memory.events");
  CHECK(read_memory_group(system, "/sys/fs/cgroup/user/job").access == Access::kForbidden);
  CHECK(find_memory_group(FakeSystem()).empty());
}

TEST_CASE("kills of the whole system come from vmstat") {
  FakeSystem system;
  CHECK(read_system_kills(system).access == Access::kAbsent);
  system.files["/proc/vmstat"] = "nr_free_pages 5\noom_kill 12\n";
  CHECK(read_system_kills(system).value == 12);
  system.files["/proc/vmstat"] = "nr_free_pages 5\n";
  CHECK(read_system_kills(system).access == Access::kAbsent);
}

TEST_CASE("this machine's own files are understood") {
  const RealSystem system;
  CHECK(line_value(system.text("/proc/meminfo", 1 << 16).value, "MemTotal") > (1 << 20));
  CHECK(read_system_kills(system).access != Access::kBroken);
}
