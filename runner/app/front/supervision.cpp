// The supervisor's questions answered from the run home.
#include "app/front/supervision.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "app/front/aftermath.hpp"
#include "app/front/source.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "checkpoint/home.hpp"
#include "supervise/recording.hpp"
#include "supervise/supervisor.hpp"
#include "telemetry/status.hpp"

namespace holdfast::app {
namespace {

/// A home that cannot be looked into has no generation: its worker tells what is wrong with it.
std::string generation_of(const std::string& home) {
  try {
    return checkpoint::RunHome::look(home).path;
  } catch (const Error&) {
    return {};
  }
}

class Supervision {
 public:
  Supervision(const CommandLine& line, const std::string& target, const std::string& worker, const RunSettings& run)
      : line_(line), target_(target), worker_(worker), run_(run), first_generation_(generation_of(run.home)) {
    base::LogOptions options;
    options.json = line.json_log;
    options.quiet = line.quiet;
    log_.emplace(options);
  }

  supervise::SupervisorParts parts() {
    supervise::SupervisorParts parts;
    parts.worker = [this](std::int64_t restart) { return worker_of_try(restart); };
    parts.restart = {run_.max_restarts, run_.backoff};
    parts.hang_timeout = run_.hang_timeout;
    parts.explain = [this](const supervise::Ending& ending) { return explain(ending); };
    parts.look = [this](pid_t pid) { return look(pid); };
    parts.checkpoint = [this] { return trace_or_nothing().checkpoint; };
    parts.stacks = [this] { return stacks(); };
    parts.tell = [this](const std::string& sentence) { log_->warn(run_.name + ": " + sentence); };
    parts.restarting = [this](const supervise::Verdict& last) {
      count_restart(run_.home, supervise::cause_row(last.cause).name);
    };
    return parts;
  }

 private:
  /// What was asked once is not asked again: once the first try has begun its generation, the next ones go on in it.
  [[nodiscard]] supervise::Worker worker_of_try(std::int64_t restart) const {
    CommandLine line = line_;
    line.supervise = false;
    if (restart > 0) line.retry = true;
    if (restart > 0 && generation_of(run_.home) != first_generation_) {
      line.fresh = false;
      line.resume = "auto";
    }
    supervise::Worker worker;
    worker.arguments = {worker_};
    for (auto& argument : arguments_of(line, {target_})) worker.arguments.push_back(std::move(argument));
    worker.environment = {{"HOLDFAST_SUPERVISOR", std::to_string(getpid())}};
    return worker;
  }

  [[nodiscard]] supervise::Trace trace_or_nothing() const {
    try {
      return trace_of(run_.home);
    } catch (const Error&) {  // as in generation_of
      return {};
    }
  }

  supervise::Verdict explain(const supervise::Ending& ending) {
    supervise::Trace trace = trace_or_nothing();
    const bool begun = trace.pid == ending.pid;
    trace.ending = ending;
    const auto verdict = supervise::judge(supervise::collect(system_, trace));
    if (begun) settle(verdict);
    return verdict;
  }

  [[nodiscard]] supervise::Look look(pid_t pid) const {
    supervise::Look look;
    const std::string generation = generation_of(run_.home);
    if (generation.empty()) return look;
    if (const auto status = telemetry::read_status(generation)) look.begun = status->pid == pid;
    if (const auto pulse = supervise::read_pulse(generation + "/" + supervise::kRecorderFile);
        pulse && pulse.value.pid == pid)
      look.pulse = pulse.value;
    return look;
  }

  [[nodiscard]] std::string stacks() const {
    const std::string generation = generation_of(run_.home);
    return generation.empty() ? "" : generation + "/" + supervise::kStacksFile;
  }

  const CommandLine& line_;
  std::string target_, worker_;
  RunSettings run_;
  std::string first_generation_;
  supervise::RealSystem system_{environment("HOLDFAST_SYSROOT").value_or("")};
  std::optional<base::RunLog> log_;
};

}  // namespace

JobResult run_supervised(const CommandLine& line, const std::string& target, const std::string& worker, bool& stopped) {
  std::optional<RunSettings> run;
  try {
    run = run_settings(line, target);
  } catch (const Error&) {  // the worker finds it again, and more
    CommandLine plain = line;
    plain.supervise = false;
    Job job{target, {worker}, true};
    for (auto& argument : arguments_of(plain, {target})) job.arguments.push_back(std::move(argument));
    return run_batch({job}).jobs.front();
  }
  Supervision supervision(line, target, worker, *run);
  const auto outcome = supervise::supervise(supervision.parts());
  stopped = outcome.stopped;
  return {target, true, outcome.code, outcome.last.signal};
}

}  // namespace holdfast::app
