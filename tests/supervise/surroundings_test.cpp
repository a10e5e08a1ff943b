// The figures of a sample: what is there is taken, what is not stays unknown.
#include "supervise/surroundings.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "fake_system.hpp"

using namespace holdfast::supervise;
using holdfast::test::FakeSystem;

TEST_CASE("a sample takes group, pressure, memory and room") {
  FakeSystem system;
  system.files["/proc/self/cgroup"] = "0::/job\n";
  system.files["/proc/self/mountinfo"] = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  system.files["/sys/fs/cgroup/job/memory.events"] = "oom_kill 1\n";
  system.files["/sys/fs/cgroup/job/memory.current"] = "700\n";
  system.files["/sys/fs/cgroup/job/memory.max"] = "900\n";
  system.files["/proc/vmstat"] = "oom_kill 4\n";
  system.files["/proc/meminfo"] = "MemTotal:  100 kB\nMemAvailable:   50 kB\n";
  system.files["/proc/self/status"] = "VmRSS:\t  20 kB\nThreads:\t7\n";
  system.files["/proc/pressure/memory"] = "some avg10=1.00 avg60=0 total=1\nfull avg10=43.21 avg60=0.00 total=1\n";
  system.rooms["/run"] = {1000, 600, 50, 20, false};
  system.rooms["/dev/shm"] = {64, 32, 0, 0, false};
  Surroundings around(system, "/run", false);
  const Attempt attempt = around.attempt();
  CHECK(attempt.pid == ::getpid());
  CHECK(attempt.memory_group.view() == "/sys/fs/cgroup/job");
  CHECK(attempt.group_kills == 1);
  CHECK(attempt.system_kills == 4);
  CHECK(attempt.memory_total == 102400);
  CHECK(attempt.limit_address_space == kUnknown);
  Sample sample;
  around.sample(sample);
  CHECK(sample.resident == 20480);
  CHECK(sample.threads == 7);
  CHECK(sample.group_usage == 700);
  CHECK(sample.group_limit == 900);
  CHECK(sample.group_kills == 1);
  CHECK(sample.system_kills == 4);
  CHECK(sample.available == 51200);
  CHECK(sample.memory_pressure == 4321);
  CHECK(sample.io_pressure == kUnknown);
  CHECK(sample.disk_free == 600);
  CHECK(sample.disk_files == 20);
  CHECK(sample.shm_free == 32);
  CHECK(sample.gpu.status == kUnknown);
}

TEST_CASE("on a machine that tells nothing every figure is unknown") {
  FakeSystem system;
  Surroundings around(system, "/run", false);
  CHECK(around.attempt().group_kills == kUnknown);
  Sample sample;
  around.sample(sample);
  CHECK(sample.resident == kUnknown);
  CHECK(sample.group_usage == kUnknown);
  CHECK(sample.available == kUnknown);
}
