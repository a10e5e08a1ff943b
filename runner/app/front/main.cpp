// holdfast, the command: reads the command line, does what needs no LibTorch, and becomes or starts the worker for the
// rest. Starts in milliseconds.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "app/command/command_line.hpp"
#include "app/command/fault.hpp"
#include "app/command/help.hpp"
#include "app/front/batch.hpp"
#include "app/front/checkpoint_request.hpp"
#include "app/front/doctor.hpp"
#include "app/front/inspection.hpp"
#include "app/front/location.hpp"
#include "app/front/report_file.hpp"
#include "app/front/run_table.hpp"
#include "app/front/source.hpp"
#include "app/front/supervision.hpp"
#include "app/front/why.hpp"
#include "app/version.hpp"
#include "base/output.hpp"
#include "base/signal.hpp"
#include "telemetry/catalogue.hpp"

namespace holdfast::app {
namespace {

base::Output result;

void print(const std::string& text) { result.put(text); }

/// The same process becomes the worker: same pid, so whoever started holdfast signals and waits for the trainer itself.
[[noreturn]] void become(const std::string& worker, const std::vector<std::string>& arguments) {
  std::vector<char*> list = {const_cast<char*>(worker.c_str())};
  for (const auto& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
  list.push_back(nullptr);
  execv(worker.c_str(), list.data());
  throw Error(ExitCode::kBug, "install.exec", worker, std::string("cannot be started: ") + strerror(errno),
              "install again, or build the target holdfast-worker");
}

int tell(const CommandLine& line, const BatchResult& outcome) {
  if (!line.quiet)
    print("\n" + batch_table(outcome));
  else if (outcome.code != 0)
    std::fputs(batch_table(outcome).c_str(), stderr);
  return outcome.code;
}

int supervised(const CommandLine& line, const std::string& worker) {
  BatchResult outcome;
  bool stopped = false;
  for (const auto& target : line.targets)
    outcome.jobs.push_back(stopped ? JobResult{target, false, 0, 0} : run_supervised(line, target, worker, stopped));
  outcome.code = batch_code(outcome);
  return line.targets.size() > 1 ? tell(line, outcome) : outcome.code;
}

int batch(const CommandLine& line, const std::string& worker) {
  std::vector<Job> jobs;
  for (const auto& target : line.targets) {
    Job job{target, {worker}, true};
    const auto arguments = arguments_of(line, {target});
    job.arguments.insert(job.arguments.end(), arguments.begin(), arguments.end());
    jobs.push_back(std::move(job));
  }
  return tell(line, run_batch(jobs));
}

int why(const CommandLine& line) {
  const supervise::RealSystem system(environment("HOLDFAST_SYSROOT").value_or(""));
  const Why found = why_of(system, line.targets.front());
  print(line.json ? found.json : found.text);
  if (!line.termination_log.empty()) write_termination_log(line.termination_log, found.verdict);
  return 0;
}

int doctor(const CommandLine& line) {
  const supervise::RealSystem system(environment("HOLDFAST_SYSROOT").value_or(""));
  const auto checks = check_up(system, checkup_facts(line, HOLDFAST_TORCH_VERSION));
  print(line.json ? checkup_json(checks) : checkup_text(checks));
  return has_fault(checks) ? static_cast<int>(ExitCode::kUnavailable) : 0;
}

int dispatch(const CommandLine& line) {
  switch (line.command) {
    case Command::kHelp:
      return print(line.help), 0;
    case Command::kVersion:
      return print(line.json ? version_json() : version_text()), 0;
    case Command::kInspect: {
      const auto found = inspect_path(line.targets.front());
      return print(line.json ? inspection_json(found) : inspection_text(found)), 0;
    }
    case Command::kCheckpoint: {
      const std::chrono::milliseconds patience(static_cast<std::int64_t>(line.timeout_seconds * 1000));
      const auto outcome = request_checkpoint(line.targets.front(), patience);
      print(line.json ? request_json(outcome) : request_text(outcome, patience));
      return outcome.pending && patience.count() > 0 ? static_cast<int>(ExitCode::kStoppedAfterSave) : 0;
    }
    case Command::kStatus: {
      const auto runs = find_runs(line.targets.front());
      return print(line.json ? run_json(runs) : run_table(runs)), 0;
    }
    case Command::kWhy:
      return why(line);
    case Command::kDoctor:
      return doctor(line);
    case Command::kReport:
      return print(report_command(line.targets.front(), line.output, HOLDFAST_VERSION)), 0;
    case Command::kMetrics:
      return print(line.json       ? telemetry::catalogue_json()
                   : line.markdown ? telemetry::catalogue_markdown()
                                   : telemetry::catalogue_text()),
             0;
    default:
      break;
  }
  const std::string worker = worker_of(own_path());
  base::block_signals();  // a stop request while LibTorch loads waits for the worker's watcher, instead of killing it
  if (line.command == Command::kRun && line.supervise) return supervised(line, worker);
  if (line.command == Command::kRun && line.targets.size() > 1) return batch(line, worker);
  become(worker, arguments_of(line, line.targets));
}

int carry_out(const std::vector<std::string>& arguments) {
  bool json = wants_json_log(arguments);
  try {
    const CommandLine line = parse_command_line(arguments);
    json = line.json_log;
    const int code = dispatch(line);
    const auto lost = result.failure();
    if (!lost) return code;
    const int loss = print_fault(*lost, json);
    return code == 0 && line.command != Command::kRun ? loss : code;
  } catch (const Error& error) {
    return print_fault(error, json);
  } catch (const std::exception& error) {
    return print_fault(
        Error(ExitCode::kBug, "bug.exception", "holdfast", error.what(), "this is a bug of holdfast; please report it"),
        json);
  }
}

}  // namespace
}  // namespace holdfast::app

int main(int count, char** values) {
  holdfast::base::fill_standard_descriptors();
  signal(SIGPIPE, SIG_IGN);  // a closed pipe is then an error of write; the worker asks for the same
  return holdfast::app::carry_out({values + 1, values + count});
}
