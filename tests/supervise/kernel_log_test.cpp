// Records of /dev/kmsg: which lines tell of a death, and whom they name.
#include "supervise/kernel_log.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace holdfast::supervise;
using Kind = KernelEvent::Kind;

TEST_CASE("both lines of an OOM kill name the process, and whose limit was met") {
  const auto events = kernel_events(
      "6,881,5000000,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/job,"
      "task_memcg=/job,task=holdfast-worker,pid=4711,uid=0\n"
      "3,882,5000001,-;Memory cgroup out of memory: Killed process 4711 (holdfast-worker) total-vm:900kB, "
      "anon-rss:800kB\n"
      "3,883,6000000,-;Out of memory: Killed process 12 (python) total-vm:1kB\n");
  REQUIRE(events.size() == 3);
  CHECK(events[0].kind == Kind::kOomKill);
  CHECK(events[0].pid == 4711);
  CHECK(events[0].group == "/job");
  CHECK(events[0].microseconds == 5000000);
  CHECK_FALSE(events[0].whole_system);
  CHECK(events[1].pid == 4711);
  CHECK_FALSE(events[1].whole_system);
  CHECK(events[2].pid == 12);
  CHECK(events[2].whole_system);
}

TEST_CASE("lines of a user are not the kernel's, whatever they say") {
  CHECK(kernel_events("11,504,77,-;Out of memory: Killed process 4711 (x)\n").empty());
  CHECK(kernel_events("4,504,77,-;Out of memory: Killed process 4711 (x)\n").size() == 1);
}

TEST_CASE("XID, file system, hung task and segfault lines are known") {
  const auto events = kernel_events(
      "4,1,10,-;NVRM: Xid (PCI:0000:01:00): 79, pid=4711, name=holdfast-worker, GPU has fallen off the bus.\n"
      "4,2,11,-;NVRM: Xid (PCI:0000:01:00): 31, pid='<unknown>', name=<unknown>, MMU Fault\n"
      "2,3,12,-;EXT4-fs (sda1): Remounting filesystem read-only\n"
      "3,4,13,-;INFO: task holdfast-worker:4711 blocked for more than 122 seconds.\n"
      "6,5,14,-;holdfast-worker[4711]: segfault at 0 ip 00007f sp 00007f error 4 in libholdfast_x.so\n"
      " SUBSYSTEM=cpu\n"
      "6,6,15,-;eth0: link up\n");
  REQUIRE(events.size() == 5);
  CHECK(events[0].xid == 79);
  CHECK(events[0].pid == 4711);
  CHECK(events[1].xid == 31);
  CHECK(events[1].pid == 0);
  CHECK(events[2].kind == Kind::kFileSystem);
  CHECK(events[3].kind == Kind::kHungTask);
  CHECK(events[3].pid == 4711);
  CHECK(events[4].kind == Kind::kSegfault);
  CHECK(events[4].pid == 4711);
}

TEST_CASE("any bytes give at most a thousand events and no crash") {
  std::mt19937_64 random(11);
  const std::string seed =
      "6,881,5000000,-;oom-kill:constraint=,pid=4711\n3,1,2,-;Killed process 1 (x)\nNVRM: Xid (P): 7\n";
  for (int round = 0; round < 3000; ++round) {
    std::string text = seed;
    for (int i = 0; i < 1 + round % 12; ++i) text[random() % text.size()] = static_cast<char>(random());
    CHECK(kernel_events(text).size() <= 1000);
  }
  std::string many;
  for (int i = 0; i < 1500; ++i) many += "3,1," + std::to_string(i) + ",-;Killed process 1 (x)\n";
  const auto events = kernel_events(many);
  REQUIRE(events.size() == 1000);
  CHECK(events.back().microseconds == 1499);
}
