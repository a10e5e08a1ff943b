// posix_spawn, and a wait that can be given up.
#include "command_source.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

namespace holdfast::plugins {
namespace {

using Clock = std::chrono::steady_clock;

/// How the child differs from this process.
class Setting {
 public:
  Setting() {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files_, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files_, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t none, all;  // holdfast blocks and ignores signals that a command expects
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
  }
  ~Setting() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  /// 0, or the reason as an errno.
  int spawn(pid_t& child, const std::vector<std::string>& argv) const {
    std::vector<char*> words;
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    return posix_spawnp(&child, words.front(), &files_, &attributes_, words.data(), environ);
  }

 private:
  posix_spawn_file_actions_t files_{};
  posix_spawnattr_t attributes_{};
};

/// Whether it has ended. Its number stays its own until take_down().
bool has_ended(pid_t child) {
  siginfo_t info{};
  int result = 0;
  do result = waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
  while (result != 0 && errno == EINTR);
  return result != 0 || info.si_pid != 0;
}

/// Kills what is left of its group and takes its status; none where the system kept none.
std::optional<int> take_down(pid_t child) {
  kill(-child, SIGKILL);
  int status = 0;
  pid_t got = -1;
  do got = waitpid(child, &status, 0);
  while (got < 0 && errno == EINTR);
  return got == child ? std::optional(status) : std::nullopt;
}

}  // namespace

Look CommandSource::look(Ending& ending) {
  constexpr std::chrono::milliseconds kLongestNap{20};
  const Setting setting;
  pid_t child = 0;
  if (const int failed = setting.spawn(child, argv_); failed != 0)
    return {{}, "the command '" + argv_.front() + "' cannot be started: " + std::strerror(failed)};
  const auto until = Clock::now() + timeout_;
  std::chrono::milliseconds nap{1};
  while (!has_ended(child)) {
    const bool over = ending.within(nap);
    nap = std::min(nap * 2, kLongestNap);
    if (!over && Clock::now() < until) continue;
    take_down(child);
    if (over) return {};
    char seconds[40];
    std::snprintf(seconds, sizeof seconds, "%g s", std::chrono::duration<double>(timeout_).count());
    return {{}, "the command '" + argv_.front() + "' took longer than " + seconds + " and was killed"};
  }
  const auto status = take_down(child);
  if (!status) return {{}, "the command '" + argv_.front() + "' left no exit code: SIGCHLD is ignored in this process"};
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return {"the command '" + argv_.front() + "' succeeded", {}};
  return {};
}

}  // namespace holdfast::plugins
