// The signal watcher, in forked children: a test process must not lose its own signals.
#include "base/signal.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <utility>

using namespace holdfast::base;

namespace {

/// A child that runs `body` with a pipe to talk back.
class Child {
 public:
  explicit Child(const std::function<void(int)>& body) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      ::close(STDERR_FILENO);  // the parting line would stand in the test's output
      for (const int number : {SIGINT, SIGTERM}) ::signal(number, SIG_DFL);  // doctest has handlers of its own
      body(ends[1]);
      ::_exit(0);
    }
    ::close(ends[1]);
    from_ = ends[0];
  }
  ~Child() {
    ::close(from_);
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void send(int number) const { ::kill(pid_, number); }
  /// One line; waits at most 10 s.
  [[nodiscard]] std::string line() const {
    std::string text;
    pollfd wanted{from_, POLLIN, 0};
    char c = 0;
    while (::poll(&wanted, 1, 10'000) > 0 && ::read(from_, &c, 1) == 1 && c != '\n') text += c;
    return text;
  }
  int exit_status() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  int from_ = -1;
};

void say(int descriptor, const std::string& text) {
  [[maybe_unused]] const ssize_t written = ::write(descriptor, (text + "\n").c_str(), text.size() + 1);
}

void watch_and_wait(int out, bool saved) {
  block_signals();
  SignalWatcher watcher([out](const std::string& text) { say(out, text); });
  if (watcher.asked() == nullptr) say(out, "ready");
  while (watcher.asked() == nullptr) ::usleep(1000);
  if (saved) watcher.note_saved();
  say(out, "asked " + *watcher.asked());
  while (true) ::pause();
}

}  // namespace

TEST_CASE("the first signal sets the flag with its name and sender, the second leaves with 87") {
  Child child([](int out) { watch_and_wait(out, false); });
  CHECK(child.line() == "ready");
  child.send(SIGTERM);
  const std::string text = "SIGTERM from pid " + std::to_string(::getpid());
  CHECK(child.line() == text);
  CHECK(child.line() == "asked " + text);
  ::usleep(150'000);
  child.send(SIGINT);
  const int status = child.exit_status();
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 87);
}

TEST_CASE("once a checkpoint was completed the second signal leaves with 75") {
  Child child([](int out) { watch_and_wait(out, true); });
  CHECK(child.line() == "ready");
  child.send(SIGINT);
  CHECK(child.line() == "SIGINT from pid " + std::to_string(::getpid()));
  CHECK(child.line().starts_with("asked"));
  ::usleep(150'000);
  child.send(SIGTERM);
  CHECK(WEXITSTATUS(child.exit_status()) == 75);
}

TEST_CASE("a SIGHUP that was ignored at the start stays ignored, as under nohup") {
  Child child([](int out) {
    ::signal(SIGHUP, SIG_IGN);
    watch_and_wait(out, false);
  });
  CHECK(child.line() == "ready");
  child.send(SIGHUP);
  ::usleep(20'000);
  child.send(SIGTERM);
  CHECK(child.line() == "SIGTERM from pid " + std::to_string(::getpid()));
}

TEST_CASE("SIGINT and SIGTERM that were ignored at the start stay ignored, as in a shell's background job") {
  for (const auto& [ignored, other] : {std::pair{SIGINT, SIGTERM}, std::pair{SIGTERM, SIGINT}}) {
    Child child([number = ignored](int out) {
      ::signal(number, SIG_IGN);
      watch_and_wait(out, false);
    });
    CHECK(child.line() == "ready");
    child.send(ignored);
    child.send(other);
    CHECK(child.line().starts_with(other == SIGINT ? "SIGINT from" : "SIGTERM from"));
  }
}

TEST_CASE("when the grace time is over the process leaves, with 75 once the state was saved and 87 before") {
  for (const bool saved : {false, true}) {
    Child child([saved](int out) {
      block_signals();
      SignalWatcher watcher({}, [out](const std::string& why, holdfast::ExitCode) { say(out, why); });
      watcher.set_grace(std::chrono::milliseconds(1000));
      say(out, "ready");
      while (watcher.asked() == nullptr) ::usleep(1000);
      if (saved) watcher.note_saved();
      while (true) ::pause();
    });
    CHECK(child.line() == "ready");
    child.send(SIGTERM);
    CHECK(child.line() == "SIGTERM from pid " + std::to_string(::getpid()) +
                              ": the grace time of 1 s is over: leaving at once, " +
                              (saved ? "the state was saved" : "without a new checkpoint"));
    CHECK(WEXITSTATUS(child.exit_status()) == (saved ? 75 : 87));
  }
}

TEST_CASE("the end of the grace time waits for a checkpoint that is being written") {
  Child child([](int out) {
    block_signals();
    SignalWatcher watcher;
    watcher.set_grace(std::chrono::milliseconds(200));
    watcher.begin_saving();
    say(out, "ready");
    while (watcher.asked() == nullptr) ::usleep(1000);
    ::usleep(500'000);
    watcher.end_saving();
    say(out, "written");
    ::_exit(75);
  });
  CHECK(child.line() == "ready");
  child.send(SIGTERM);
  CHECK(child.line() == "written");
  CHECK(WEXITSTATUS(child.exit_status()) == 75);
}

TEST_CASE("a SIGHUP asks for a stop otherwise") {
  Child child([](int out) { watch_and_wait(out, false); });
  CHECK(child.line() == "ready");
  child.send(SIGHUP);
  CHECK(child.line() == "SIGHUP from pid " + std::to_string(::getpid()));
}

TEST_CASE("restored signals end a child as ever and the watcher ends without one") {
  Child child([](int out) {
    block_signals();
    { SignalWatcher watcher; }
    restore_signals();
    say(out, "ready");
    while (true) ::pause();
  });
  CHECK(child.line() == "ready");
  child.send(SIGTERM);
  const int status = child.exit_status();
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
}
