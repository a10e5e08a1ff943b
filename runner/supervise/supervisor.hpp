// Keeps one run alive: starts its worker, watches it, explains its death and starts it again as the policy says. Knows
// programs, signals and verdicts; what a recipe or a status file is, the caller knows.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "supervise/evidence.hpp"
#include "supervise/restart.hpp"
#include "supervise/watchdog.hpp"

namespace holdfast::supervise {

struct Worker {
  std::vector<std::string> arguments;                            ///< program first, absolute
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours
  bool takes_signals = true;  ///< stop signals stay blocked over exec until its watcher takes them
};

struct SupervisorParts {
  std::function<Worker(std::int64_t restart)> worker;  ///< restart: 0 for the first try
  RestartSettings restart;
  std::chrono::nanoseconds hang_timeout = std::chrono::minutes(10);
  std::function<Verdict(const Ending&)> explain;  ///< judges, and keeps the verdict where it can
  std::function<Look(pid_t)> look;
  std::function<std::int64_t()> checkpoint;        ///< update of the newest; negative: none
  std::function<std::string()> stacks;             ///< where to write them; empty: nowhere yet
  std::function<void(const std::string&)> tell;    ///< a sentence for people
  std::function<void(const Verdict&)> restarting;  ///< before each restart; may be empty
};

struct Supervised {
  int code = 0;  ///< for the caller's exit
  std::int64_t restarts = 0;
  bool stopped = false;  ///< a stop was asked for
  Verdict last;
};

/// Runs until the policy gives up or a stop was carried out. Blocks SIGINT, SIGTERM, SIGHUP and SIGCHLD in this thread
/// and leaves them blocked; call it in a process with one thread. A stop signal reaches the worker once, also when the
/// whole group got it; while waiting for a restart it ends the waiting: 75 where there is a checkpoint, else 87. The
/// worker gets SIGTERM when this process dies; children that this process inherits (as pid 1 does) are reaped. Throws
/// Error 74 when no process can be started.
Supervised supervise(const SupervisorParts& parts);

}  // namespace holdfast::supervise
