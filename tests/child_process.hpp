// A forked child for tests that kill, change identity or mount: runs a body and reports one line of text.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

namespace holdfast::test {

class ChildProcess {
 public:
  /// `body` gets a descriptor to write reports to; it ends with exit code 0, or 99 after an uncaught exception, whose
  /// text is reported.
  explicit ChildProcess(const std::function<void(int)>& body) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("pipe failed");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      for (const int number : {SIGINT, SIGTERM, SIGSEGV, SIGABRT}) ::signal(number, SIG_DFL);  // not doctest's
      try {
        body(ends[1]);
      } catch (const std::exception& error) {
        report(ends[1], error.what());
        ::_exit(99);
      }
      ::_exit(0);
    }
    ::close(ends[1]);
    from_ = ends[0];
  }
  ~ChildProcess() {
    kill();
    ::close(from_);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  static void report(int descriptor, const std::string& text) {
    [[maybe_unused]] const ssize_t written = ::write(descriptor, text.data(), text.size());
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    wait();
  }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  /// Everything reported until the child closed its end.
  [[nodiscard]] std::string reported() const {
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t got = 0; (got = ::read(from_, piece.data(), piece.size())) > 0;)
      text.append(piece.data(), static_cast<std::size_t>(got));
    return text;
  }
  /// Blocks until one byte was reported.
  void await_byte() const {
    char byte = 0;
    [[maybe_unused]] const ssize_t got = ::read(from_, &byte, 1);
  }

 private:
  pid_t pid_ = -1;
  int from_ = -1;
};

}  // namespace holdfast::test
