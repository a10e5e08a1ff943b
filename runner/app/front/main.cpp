// holdfast, the command: reads the command line, does what needs no LibTorch, and becomes or starts the worker for the
// rest. Starts in milliseconds.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "app/command/command_line.hpp"
#include "app/command/help.hpp"
#include "app/front/batch.hpp"
#include "app/front/inspection.hpp"
#include "app/front/location.hpp"
#include "app/front/run_table.hpp"
#include "app/version.hpp"
#include "base/text.hpp"

namespace holdfast::app {
namespace {

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (std::fflush(stdout) != 0 && errno != EPIPE)
    throw Error(ExitCode::kIoError, "output.write", "stdout", std::string("cannot be written: ") + strerror(errno));
}

/// The same process becomes the worker: same pid, so whoever started holdfast signals and waits for the trainer itself.
[[noreturn]] void become(const std::string& worker, const std::vector<std::string>& arguments) {
  std::vector<char*> list = {const_cast<char*>(worker.c_str())};
  for (const auto& argument : arguments) list.push_back(const_cast<char*>(argument.c_str()));
  list.push_back(nullptr);
  execv(worker.c_str(), list.data());
  throw Error(ExitCode::kBug, "install.exec", worker, std::string("cannot be started: ") + strerror(errno),
              "install again, or build the target holdfast-worker");
}

int batch(const CommandLine& line, const std::string& worker) {
  std::vector<Job> jobs;
  for (const auto& target : line.targets) {
    Job job{target, {worker}};
    const auto arguments = arguments_of(line, {target});
    job.arguments.insert(job.arguments.end(), arguments.begin(), arguments.end());
    jobs.push_back(std::move(job));
  }
  const BatchResult result = run_batch(jobs);
  if (!line.quiet)
    print("\n" + batch_table(result));
  else if (result.code != 0)
    std::fputs(batch_table(result).c_str(), stderr);
  return result.code;
}

int dispatch(const CommandLine& line) {
  switch (line.command) {
    case Command::kHelp:
      return print(line.help), 0;
    case Command::kVersion:
      return print(version_text()), 0;
    case Command::kInspect: {
      const auto found = inspect_path(line.targets.front());
      return print(line.json ? inspection_json(found) : inspection_text(found)), 0;
    }
    case Command::kStatus: {
      const auto runs = find_runs(line.targets.front());
      return print(line.json ? run_json(runs) : run_table(runs)), 0;
    }
    default:
      break;
  }
  const std::string worker = worker_of(own_path());
  if (line.command == Command::kRun && line.targets.size() > 1) return batch(line, worker);
  become(worker, arguments_of(line, line.targets));
}

}  // namespace
}  // namespace holdfast::app

int main(int count, char** values) {
  using holdfast::base::terminal_safe;
  try {
    return holdfast::app::dispatch(holdfast::app::parse_command_line({values + 1, values + count}));
  } catch (const holdfast::Error& error) {
    std::fprintf(stderr, "%s\n", terminal_safe(error.what()).c_str());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "holdfast: error[bug.exception]: %s\n", terminal_safe(error.what()).c_str());
    return static_cast<int>(holdfast::ExitCode::kBug);
  }
}
