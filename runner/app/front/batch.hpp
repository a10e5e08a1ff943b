// Several recipes, one process each, one after the other. Knows only programs and exit codes, so tests use /bin/sh.
#pragma once

#include <string>
#include <vector>

namespace holdfast::app {

struct Job {
  std::string name;                    ///< as the user wrote it
  std::vector<std::string> arguments;  ///< program first, absolute
  bool takes_signals = false;          ///< a worker: stop signals stay blocked over exec until its watcher takes them
};

struct JobResult {
  std::string name;
  bool started = false;
  int code = 0;    ///< exit code of design 2.4, also for a death by signal
  int signal = 0;  ///< the signal that killed it; 0: it left by itself
};

struct BatchResult {
  std::vector<JobResult> jobs;
  int code = 0;  ///< of the first job that failed; 75 when a stop was asked for and none failed
};

/// Runs the jobs in order; a failing one does not stop the rest. SIGINT, SIGTERM and SIGHUP go to the running job (not
/// a second time when the terminal already sent it to the whole group) and no further job is started. A job gets
/// SIGTERM when this process dies. Blocks these signals and SIGCHLD in this thread and leaves them blocked.
BatchResult run_batch(const std::vector<Job>& jobs);

/// The code of a whole batch, as BatchResult::code tells it.
int batch_code(const BatchResult&);

/// One line a job: name, exit code, meaning; signals by name.
std::string batch_table(const BatchResult&);

}  // namespace holdfast::app
