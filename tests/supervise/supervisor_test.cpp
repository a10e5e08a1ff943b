// The supervisor over small shell programs: restarts, hangs, stops, orphans.
#include "supervise/supervisor.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "child_process.hpp"
#include "supervise/recorder.hpp"
#include "temp_folder.hpp"

using namespace holdfast::supervise;
using holdfast::test::ChildProcess;
using holdfast::test::read_text;
using holdfast::test::TempFolder;
using namespace std::chrono_literals;

namespace {

/// Says of each ending what its exit code or signal says.
Verdict plain(const Ending& ending) {
  Verdict verdict;
  verdict.pid = ending.pid;
  verdict.signal = ending.signal;
  verdict.cause = ending.hung                ? Cause::kHang
                  : ending.signal == SIGKILL ? Cause::kKilled
                  : ending.signal != 0       ? Cause::kCrash
                                             : cause_of_code(ending.code);
  verdict.exit_code = ending.signal != 0 || ending.hung ? static_cast<int>(cause_row(verdict.cause).code) : ending.code;
  return verdict;
}

struct Setup {
  explicit Setup(std::string script_text) : script(std::move(script_text)) {
    parts.worker = [this](std::int64_t restart) {
      return Worker{{"/bin/sh", "-c", script}, {{"TRY", std::to_string(restart)}, {"HERE", folder.path()}}, false};
    };
    parts.restart = {3, 10ms};
    parts.hang_timeout = 60s;
    parts.explain = plain;
    parts.look = [](pid_t) { return Look{}; };
    parts.checkpoint = [this] { return std::int64_t{std::atoll(read_text(folder / "update").c_str())}; };
    parts.stacks = [this] { return folder / "stacks.txt"; };
    parts.tell = [this](const std::string& sentence) { told += sentence + "\n"; };
  }
  Supervised run() { return supervise(parts); }

  TempFolder folder;
  std::string script, told;
  SupervisorParts parts;
};

int lines_of(const std::string& path) {
  const std::string text = read_text(path);
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

/// True once `path` has something in it.
bool wait_for(const std::string& path) {
  for (int i = 0; i < 2000; ++i) {
    if (!read_text(path).empty()) return true;
    ::usleep(5000);
  }
  return false;
}

bool gone(pid_t pid) {
  for (int i = 0; i < 1000; ++i) {
    if (::kill(pid, 0) != 0) return true;
    ::usleep(5000);
  }
  return false;
}

}  // namespace

TEST_CASE("C104: a worker that reaches its end is not started again") {
  Setup setup("echo x >> $HERE/starts");
  const auto out = setup.run();
  CHECK(out.code == 0);
  CHECK(out.restarts == 0);
  CHECK(lines_of(setup.folder / "starts") == 1);
  CHECK(setup.told.empty());
}

TEST_CASE("C102: a worker that heals at its third try ends with 0") {
  Setup setup("test $TRY -ge 2 || kill -SEGV $$");
  const auto out = setup.run();
  CHECK(out.code == 0);
  CHECK(out.restarts == 2);
}

TEST_CASE("C102: a worker that always crashes is given up after its tries, with its own code") {
  Setup setup("echo x >> $HERE/starts; kill -SEGV $$");
  const auto out = setup.run();
  CHECK(out.code == 70);
  CHECK(out.restarts == 3);
  CHECK(lines_of(setup.folder / "starts") == 4);
  CHECK(setup.told.find("starting again in 0.01 s (restart 1 of 3 without a newer checkpoint)") != std::string::npos);
  CHECK(setup.told.find("starting again in 0.04 s (restart 3 of 3 without a newer checkpoint)") != std::string::npos);
  CHECK(setup.told.find("not started again: 3 restarts without a newer checkpoint") != std::string::npos);
}

TEST_CASE("C102: a crash after progress is not the crash before it") {
  Setup setup("echo x >> $HERE/starts; test $TRY -ge 8 && exit 0; echo $TRY > $HERE/update; kill -KILL $$");
  const auto out = setup.run();
  CHECK(out.code == 0);
  CHECK(out.restarts == 8);
}

TEST_CASE("C99: exit code and signal of the last try are told apart") {
  CHECK(Setup("exit 65").run().code == 65);
  CHECK(Setup("exit 70").run().restarts == 0);
  Setup killed("kill -KILL $$");
  const auto out = killed.run();
  CHECK(out.code == 86);
  CHECK(out.last.signal == SIGKILL);
}

TEST_CASE("a hang: stacks are written before the kill, and the worker is started again") {
  Setup setup("test $TRY -ge 1 && exit 0; echo $$ > $HERE/pid; exec sleep 1000");
  setup.parts.hang_timeout = 100ms;
  const auto out = setup.run();
  CHECK(out.code == 0);
  CHECK(out.restarts == 1);
  CHECK(read_text(setup.folder / "stacks.txt").starts_with("process "));
  CHECK(setup.told.find("while starting: writing down its stacks and ending it") != std::string::npos);
}

TEST_CASE("a worker stopped by SIGSTOP hangs, and is ended all the same") {
  Setup setup("test $TRY -ge 1 && exit 0; kill -STOP $$");
  setup.parts.hang_timeout = 100ms;
  CHECK(setup.run().restarts == 1);
  CHECK(read_text(setup.folder / "stacks.txt").find("T (stopped)") != std::string::npos);
}

TEST_CASE("a stop is passed on once, also when the whole group got it") {
  const TempFolder folder;
  ChildProcess child([&](int) {
    ::setpgid(0, 0);
    Setup setup(
        "trap 'echo x >> $HERE/signals; touch $HERE/noted; sleep 0.6; exit 75' TERM; echo $$ > $HERE/pid; "
        "while true; do sleep 0.01; done");
    setup.parts.look = [&](pid_t) {
      Look look;
      look.pulse.emplace();
      if (::access((setup.folder / "noted").c_str(), F_OK) == 0) look.pulse->stop.emplace();
      return look;
    };
    holdfast::test::write_text(folder / "here", setup.folder.path());
    const auto out = setup.run();
    holdfast::test::write_text(folder / "outcome", std::to_string(out.code) + " " +
                                                       std::to_string(lines_of(setup.folder / "signals")) + " " +
                                                       std::to_string(out.restarts));
  });
  REQUIRE(wait_for(folder / "here"));
  REQUIRE(wait_for(read_text(folder / "here") + "/pid"));
  ::kill(-child.pid(), SIGTERM);
  child.wait();
  CHECK(read_text(folder / "outcome") == "75 1 0");
}

TEST_CASE("a stop to the supervisor alone reaches the worker") {
  const TempFolder folder;
  ChildProcess child([&](int) {
    Setup setup("trap 'exit 75' TERM; echo $$ > $HERE/pid; while true; do sleep 0.01; done");
    holdfast::test::write_text(folder / "here", setup.folder.path());
    const auto out = setup.run();
    holdfast::test::write_text(folder / "outcome", std::to_string(out.code) + " " + std::to_string(out.stopped));
  });
  REQUIRE(wait_for(folder / "here"));
  REQUIRE(wait_for(read_text(folder / "here") + "/pid"));
  ::kill(child.pid(), SIGTERM);
  child.wait();
  CHECK(read_text(folder / "outcome") == "75 1");
}

TEST_CASE("a stop during the wait for a restart ends it: 75 with a checkpoint, 87 without") {
  for (const auto& [update, code] : {std::pair("5", "75"), std::pair("-1", "87")}) {
    const TempFolder folder;
    ChildProcess child([&](int) {
      Setup setup("kill -KILL $$");
      holdfast::test::write_text(setup.folder / "update", update);
      setup.parts.restart.backoff = 1000s;
      setup.parts.tell = [&](const std::string& sentence) { holdfast::test::write_text(folder / "told", sentence); };
      holdfast::test::write_text(folder / "outcome", std::to_string(setup.run().code));
    });
    REQUIRE(wait_for(folder / "told"));
    ::kill(child.pid(), SIGTERM);
    child.wait();
    CHECK(read_text(folder / "outcome") == code);
  }
}

TEST_CASE("killed with SIGKILL, the supervisor leaves no worker behind") {
  Setup setup("echo $$ > $HERE/pid; while true; do sleep 0.01; done");
  ChildProcess child([&](int) { setup.run(); });
  REQUIRE(wait_for(setup.folder / "pid"));
  const pid_t worker = std::atoi(read_text(setup.folder / "pid").c_str());
  child.kill();
  CHECK(gone(worker));
}

TEST_CASE("killed at any instant around fork and exec, the supervisor leaves nobody behind") {
  for (int round = 0; round < 60; ++round) {
    Setup setup("while true; do sleep 0.01; done");
    ChildProcess child([&](int) { setup.run(); });
    ::usleep(static_cast<useconds_t>(60 * round));
    child.kill();
    CHECK(child.reported().empty());  // ends when no process holds the other end of the pipe any more
  }
}

TEST_CASE("children that the supervisor inherits are reaped, not taken for the worker") {
  Setup setup("sleep 0.05 & echo $! > $HERE/orphan; sleep 0.2");
  CHECK(setup.run().code == 0);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("a program that cannot be started is a bug of the installation and is not tried again") {
  Setup setup("");
  setup.parts.worker = [](std::int64_t) { return Worker{{"/nonexistent/worker"}, {}, false}; };
  const auto out = setup.run();
  CHECK(out.code == 70);
  CHECK(out.restarts == 0);
}
