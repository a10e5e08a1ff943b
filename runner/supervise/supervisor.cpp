// A single-threaded loop on sigtimedwait(2): deaths, stop requests and the ticks of the watchdog come in one queue.
#include "supervise/supervisor.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/text.hpp"
#include "holdfast/error.hpp"
#include "supervise/recorder.hpp"
#include "supervise/stacks.hpp"

namespace holdfast::supervise {
namespace {

using Nanoseconds = std::chrono::nanoseconds;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kSameRequest = 300'000'000;  // in which the worker notes a signal of its own

sigset_t signals(bool with_children) {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&set, number);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);  // blocked, it would be queued although nohup ignored it
  if (with_children) sigaddset(&set, SIGCHLD);
  return set;
}

/// The number of a signal of `set` that came within `wait`; 0 when none did.
int next_signal(const sigset_t& set, Nanoseconds wait, siginfo_t& info) {
  const auto count = std::max<std::int64_t>(0, wait.count());
  const timespec time{count / kSecond, count % kSecond};
  const int number = sigtimedwait(&set, &info, &time);
  return number > 0 ? number : 0;
}

class Supervision {
 public:
  explicit Supervision(const SupervisorParts& parts)
      : parts_(parts), policy_(parts.restart, parts.checkpoint()), all_(signals(true)), stops_(signals(false)) {
    sigprocmask(SIG_BLOCK, &all_, nullptr);
    tick_ = std::clamp<Nanoseconds>(parts.hang_timeout / 10, std::chrono::milliseconds(20), std::chrono::seconds(1));
  }

  Supervised run() {
    while (true) {
      const Ending ending = one_attempt();
      out_.last = parts_.explain(ending);
      out_.code = out_.last.exit_code;
      if (stopping_) return std::move(out_);
      const Decision decision = policy_.after(out_.last, parts_.checkpoint());
      tell(decision);
      if (!decision.restart) return std::move(out_);
      if (!wait(decision.wait)) return stopped_between();
      if (parts_.restarting) parts_.restarting(out_.last);
      ++out_.restarts;
    }
  }

 private:
  void tell(const Decision& decision) const {
    const Verdict& at = out_.last;
    if (at.cause == Cause::kNone) return;
    const std::string sure = at.certainty == Certainty::kEstablished ? ""
                             : at.certainty == Certainty::kLikely    ? "likely "
                                                                     : "";
    const std::string next = decision.restart
                                 ? "; starting again in " +
                                       base::human_duration(static_cast<double>(decision.wait.count()) * 1e-9) + " (" +
                                       decision.why + ")"
                                 : "; not started again: " + decision.why;
    parts_.tell("the worker ended: " + sure + std::string(cause_row(at.cause).name) + " (exit " +
                std::to_string(at.exit_code) + "): " + at.sentence + next);
  }

  void start() {
    const Worker worker = parts_.worker(out_.restarts);
    std::vector<char*> arguments;
    for (const auto& argument : worker.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    const pid_t parent = getpid();
    child_ = fork();
    if (child_ < 0)
      throw Error(ExitCode::kIoError, "supervise.fork", "supervisor",
                  std::string("cannot start a process: ") + strerror(errno),
                  "raise the limit of processes (`ulimit -u`), then run again");
    if (child_ == 0) become_worker(worker, arguments.data(), parent);
  }

  [[noreturn]] static void become_worker(const Worker& worker, char** arguments, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(static_cast<int>(ExitCode::kStoppedWithoutSave));  // it died before the line above
    sigset_t open = signals(true);
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
      if (worker.takes_signals) sigdelset(&open, number);
    sigprocmask(SIG_UNBLOCK, &open, nullptr);
    for (const auto& [name, value] : worker.environment) setenv(name.c_str(), value.c_str(), 1);
    execv(arguments[0], arguments);
    _exit(static_cast<int>(ExitCode::kBug));
  }

  Ending one_attempt() {
    start();
    ending_ = Ending{};
    ending_.pid = child_;
    Watchdog watchdog(parts_.hang_timeout, monotonic_ns());
    std::int64_t last = monotonic_ns();
    while (!reap()) {
      siginfo_t info{};
      const Nanoseconds pause = forward_at_ > 0 ? std::min<Nanoseconds>(tick_, std::chrono::milliseconds(20)) : tick_;
      const int number = next_signal(all_, pause, info);
      if (number != 0 && number != SIGCHLD) take_stop(number, info);
      const std::int64_t now = monotonic_ns();
      if (now - last > pause.count() + 5 * kSecond) watchdog.forgive(now);
      last = now;
      pass_on(now);
      if (const auto why = ending_.hung ? std::nullopt : watchdog.judge(parts_.look(child_), now)) end_hang(*why);
    }
    forward_at_ = 0;
    return ending_;
  }

  /// True when the worker is gone. Others that this process inherited are reaped too.
  bool reap() {
    int status = 0;
    rusage used{};
    for (pid_t gone = 0; (gone = wait4(-1, &status, WNOHANG, &used)) > 0;) {
      if (gone != child_) continue;
      if (WIFSIGNALED(status)) ending_.signal = WTERMSIG(status);
      if (WIFEXITED(status)) ending_.code = WEXITSTATUS(status);
      ending_.max_resident = std::int64_t{used.ru_maxrss} * 1024;
      return true;
    }
    return false;
  }

  void take_stop(int number, const siginfo_t& info) {
    const bool first = !stopping_;
    stopping_ = out_.stopped = true;
    if (info.si_code == SI_KERNEL) return;  // a terminal sent it to the worker too
    forward_ = number;
    forward_at_ = monotonic_ns() + (first ? kSameRequest : 0);
  }

  /// A signal to the whole group has reached the worker already; its recorder tells. Passed on, it would be the second
  /// request, which leaves at once.
  void pass_on(std::int64_t now) {
    if (forward_at_ == 0) return;
    if (const Look look = parts_.look(child_); look.pulse && look.pulse->stop && now < forward_at_) {
      forward_at_ = 0;
      return;
    }
    if (now < forward_at_) return;
    kill(child_, forward_);
    forward_at_ = 0;
  }

  void end_hang(const std::string& why) {
    parts_.tell(why + ": writing down its stacks and ending it");
    if (const std::string path = parts_.stacks(); !path.empty()) dump_stacks(child_, path, why);
    ending_.hung = true;
    kill(child_, SIGKILL);
  }

  /// False when a stop was asked for meanwhile.
  bool wait(Nanoseconds time) {
    const std::int64_t until = monotonic_ns() + time.count();
    siginfo_t info{};
    while (true) {
      const std::int64_t left = until - monotonic_ns();
      if (next_signal(stops_, Nanoseconds(left), info) != 0) return false;
      if (monotonic_ns() >= until) return true;
      reap();
    }
  }

  Supervised stopped_between() {
    out_.stopped = true;
    out_.code =
        static_cast<int>(parts_.checkpoint() >= 0 ? ExitCode::kStoppedAfterSave : ExitCode::kStoppedWithoutSave);
    parts_.tell("stopped while waiting for the restart");
    return std::move(out_);
  }

  const SupervisorParts& parts_;
  RestartPolicy policy_;
  sigset_t all_, stops_;
  Nanoseconds tick_{};
  Supervised out_;
  Ending ending_;
  pid_t child_ = -1;
  bool stopping_ = false;
  int forward_ = 0;
  std::int64_t forward_at_ = 0;
};

}  // namespace

Supervised supervise(const SupervisorParts& parts) { return Supervision(parts).run(); }

}  // namespace holdfast::supervise
