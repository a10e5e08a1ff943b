// A single-threaded loop on sigwaitinfo(2): children and stop requests arrive in one queue, so nothing races.
#include "app/front/batch.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/exit_codes.hpp"
#include "base/signal.hpp"
#include "base/text.hpp"
#include "holdfast/error.hpp"

namespace holdfast::app {
namespace {

sigset_t stop_signals(bool with_children) {
  sigset_t set = base::stop_signals();
  if (with_children) sigaddset(&set, SIGCHLD);
  return set;
}

pid_t start(const Job& job) {
  std::vector<char*> arguments;
  for (const auto& argument : job.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
    throw Error(ExitCode::kIoError, "batch.fork", job.name, std::string("cannot start a process: ") + strerror(errno));
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(static_cast<int>(ExitCode::kStoppedWithoutSave));  // it died before the line above
  sigset_t open = stop_signals(true);
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    if (job.takes_signals) sigdelset(&open, number);
  sigprocmask(SIG_UNBLOCK, &open, nullptr);
  execv(arguments[0], arguments.data());
  _exit(static_cast<int>(ExitCode::kBug));
}

/// The exit code that a death by signal stands for. SIGKILL names no cause: an OOM killer would need evidence.
ExitCode code_of_signal(int number) {
  switch (number) {
    case SIGKILL:
      return ExitCode::kKilled;
    case SIGBUS:
      return ExitCode::kSharedMemory;
    case SIGTERM:
    case SIGINT:
    case SIGHUP:
      return ExitCode::kStoppedWithoutSave;
    default:
      return ExitCode::kBug;
  }
}

JobResult result_of(const Job& job, int status) {
  JobResult result{job.name, true, 0, 0};
  if (WIFEXITED(status)) return result.code = WEXITSTATUS(status), result;
  result.signal = WTERMSIG(status);
  result.code = static_cast<int>(code_of_signal(result.signal));
  return result;
}

/// Waits for one job, passing stop requests on. Sets `stopping` when one came.
JobResult wait_for(const Job& job, pid_t child, bool& stopping) {
  const sigset_t all = stop_signals(true);
  while (true) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return result_of(job, status);
    siginfo_t info{};
    const int number = sigwaitinfo(&all, &info);
    if (number < 0 || number == SIGCHLD) continue;
    stopping = true;
    if (info.si_code != SI_KERNEL) kill(child, number);
  }
}

}  // namespace

BatchResult run_batch(const std::vector<Job>& jobs) {
  const sigset_t all = stop_signals(true), stops = stop_signals(false);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  BatchResult batch;
  bool stopping = false;
  for (const auto& job : jobs) {
    const timespec now{};
    if (sigtimedwait(&stops, nullptr, &now) > 0) stopping = true;  // came between two jobs
    batch.jobs.push_back(stopping ? JobResult{job.name, false, 0, 0} : wait_for(job, start(job), stopping));
  }
  batch.code = batch_code(batch);
  return batch;
}

int batch_code(const BatchResult& batch) {
  for (const auto& job : batch.jobs)
    if (job.code != 0) return job.code;
  const bool left_out = std::any_of(batch.jobs.begin(), batch.jobs.end(), [](const auto& job) { return !job.started; });
  return left_out ? static_cast<int>(ExitCode::kStoppedAfterSave) : 0;
}

std::string batch_table(const BatchResult& batch) {
  std::size_t width = 0;
  for (const auto& job : batch.jobs) width = std::max(width, job.name.size());
  std::string text;
  for (const auto& job : batch.jobs) {
    std::string outcome = "not started: a stop was asked for";
    if (job.started) {
      outcome = job.code == 0 ? "done" : std::to_string(job.code) + "  ";
      if (job.code != 0)
        outcome += job.signal != 0 ? std::string("killed by SIG") + sigabbrev_np(job.signal)
                                   : std::string(base::exit_code_row(static_cast<ExitCode>(job.code)).meaning);
    }
    text += base::terminal_safe_line(job.name) + std::string(width - job.name.size() + 2, ' ') + outcome + "\n";
  }
  return text;
}

}  // namespace holdfast::app
