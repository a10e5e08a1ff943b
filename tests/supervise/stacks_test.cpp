// Stacks of another process, asleep or stopped.
#include "supervise/stacks.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "child_process.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using test::ChildProcess;
using test::TempFolder;

namespace {
/// Until the child waits for something.
void await_sleep(pid_t pid) {
  for (int i = 0; i < 2000; ++i) {
    if (test::read_text("/proc/" + std::to_string(pid) + "/stat").find(") S ") != std::string::npos) return;
    ::usleep(1000);
  }
}
}  // namespace

TEST_CASE("every thread is written down with its state, and a process without a handler lives on") {
  const TempFolder folder;
  ChildProcess child([](int report) {
    ChildProcess::report(report, "x");
    ::pause();
  });
  child.await_byte();
  await_sleep(child.pid());
  supervise::dump_stacks(child.pid(), folder / "stacks.txt", "no sign of progress for 5.0 s while training");
  const std::string text = test::read_text(folder / "stacks.txt");
  CHECK(text.starts_with("process " + std::to_string(child.pid()) + " no sign of progress for 5.0 s while training\n"));
  CHECK(text.find("thread " + std::to_string(child.pid()) + " supervise_test: S (sleeping)") != std::string::npos);
  CHECK(::kill(child.pid(), 0) == 0);
}

TEST_CASE("a stopped process is told as stopped") {
  const TempFolder folder;
  ChildProcess child([](int report) {
    ChildProcess::report(report, "x");
    ::pause();
  });
  child.await_byte();
  REQUIRE(::kill(child.pid(), SIGSTOP) == 0);
  int status = 0;
  REQUIRE(::waitpid(child.pid(), &status, WUNTRACED) == child.pid());
  supervise::dump_stacks(child.pid(), folder / "stacks.txt", "hang");
  CHECK(test::read_text(folder / "stacks.txt").find(": T (stopped)") != std::string::npos);
}

TEST_CASE("a process that answers adds its own words") {
  const TempFolder folder;
  static std::string path;
  path = folder / "stacks.txt";
  ChildProcess child([](int report) {
    ::signal(supervise::stack_signal(), [](int) {
      const int file = ::open(path.c_str(), O_WRONLY | O_APPEND);
      (void)!::write(file, "stack of mine\n", 14);
    });
    ChildProcess::report(report, "x");
    while (true) ::pause();
  });
  child.await_byte();
  supervise::dump_stacks(child.pid(), path, "hang");
  CHECK(test::read_text(path).ends_with("stack of mine\n"));
}

TEST_CASE("a process that is gone gives its headline alone") {
  const TempFolder folder;
  ChildProcess child([](int) {});
  const pid_t pid = child.pid();
  child.wait();
  supervise::dump_stacks(pid, folder / "stacks.txt", "hang");
  CHECK(test::read_text(folder / "stacks.txt") == "process " + std::to_string(pid) + " hang\n");
}
