// holdfast-worker: the half of the command that needs LibTorch. Started by the front; the same command line.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <utility>

#include "app/command/command_line.hpp"
#include "app/command/fault.hpp"
#include "app/front/report_file.hpp"
#include "app/front/source.hpp"
#include "app/worker/commands.hpp"
#include "app/worker/crash.hpp"
#include "app/worker/flight.hpp"
#include "app/worker/foreign_exit.hpp"
#include "base/folder.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "device/out_of_memory.hpp"
#include "host/process_end.hpp"
#include "telemetry/last_words.hpp"

namespace holdfast::app {
namespace {

std::atomic<bool> preparing{true};
base::Output result;

/// On the watcher's thread, at the first request. While a run is only being prepared there is nothing to save and
/// nobody to ask.
void leave_while_preparing(const std::string& why) {
  if (auto* recorder = flight()) recorder->stop(why);
  if (!preparing) return;
  const std::string line = "holdfast: " + why + ": stopped before anything was changed\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  _exit(static_cast<int>(ExitCode::kStoppedAfterSave));
}

void leave_at_second_request(const std::string& why, ExitCode code) {
  telemetry::speak_last_words(static_cast<int>(code), why);
}

int dispatch(const CommandLine& line, Frame& frame) {
  switch (line.command) {
    case Command::kRun:
      return run_command(line, frame);
    case Command::kValidate:
      return validate_command(line, frame);
    case Command::kPlan:
      return plan_command(line, frame);
    case Command::kEval:
      return eval_command(line, frame);
    case Command::kPlugins:
      return plugins_command(line, frame);
    case Command::kSchema:
      return schema_command(line, frame);
    default:
      throw Error(ExitCode::kUsage, "usage.worker", "holdfast-worker", "this command belongs to the front",
                  "run `holdfast` itself");
  }
}

int tell(const Error& error, Frame& frame) {
  frame.end(error.code(), error.what());
  frame.print_error(error);
  return static_cast<int>(error.code());
}

int guarded(const CommandLine& line, Frame& frame) {
  try {
    const int code = dispatch(line, frame);
    const auto lost = result.failure();
    if (!lost) return code;
    frame.print_error(*lost);
    if (line.command == Command::kRun)
      return code;  // its result is the run folder; a summary is no reason to run again
    return code == 0 ? static_cast<int>(lost->code()) : code;
  } catch (const Error& error) {
    return tell(error, frame);
  } catch (const std::bad_alloc&) {
    return tell({ExitCode::kHostOutOfMemory, "memory.host", "holdfast", "the host has no memory left",
                 "use a machine with more memory, or a smaller data set or model"},
                frame);
  } catch (const std::exception& error) {
    return tell({ExitCode::kBug, "bug.exception", "holdfast", device::sentence_of(error),
                 "this is a bug of holdfast; please report it"},
                frame);
  }
}

}  // namespace

void Frame::end(ExitCode code, std::string_view reason) {
  end_flight();
  if (!signs) return;
  if (!home.empty()) {
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(base::Clock::real().wall().time_since_epoch());
    telemetry::end_attempt(std::exchange(home, {}), outcomes, code, now.count());
  }
  metrics->ended(code);
  signs->ended(code, reason);
  exporter->finish();
  leave_report();
}

void Frame::leave_report() {
  const std::string folder = std::exchange(generation, {});
  if (folder.empty()) return;
  try {
    write_report(folder, folder + "/report.html", HOLDFAST_VERSION);
  } catch (const std::exception& failure) {
    log.warn(std::string("the report could not be written: ") + failure.what());
  }
}

void Frame::print_error(const Error& error) {
  const std::string text = base::terminal_safe(error.what());
  if (json_log) return log.error(text);  // the log writes its file itself
  std::fprintf(stderr, "%s\n", text.c_str());
  if (run_log.empty()) return;
  const base::File file = base::open_regular(run_log, O_WRONLY | O_APPEND);
  if (file.fd() >= 0) (void)!write(file.fd(), (text + "\n").data(), text.size() + 1);
}

void print(const std::string& text) { result.put(text); }

}  // namespace holdfast::app

namespace {

int carry_out(const std::vector<std::string>& arguments) {
  using namespace holdfast;
  app::CommandLine line;
  try {
    line = app::parse_command_line(arguments);
  } catch (const Error& error) {
    return app::print_fault(error, app::wants_json_log(arguments));
  }
  base::SignalWatcher watcher(app::leave_while_preparing, app::leave_at_second_request);
  base::LogOptions options;
  options.json = line.json_log;
  options.quiet = line.quiet;
  options.color = isatty(STDERR_FILENO) != 0 && !app::environment("NO_COLOR") &&
                  app::environment("TERM").value_or("dumb") != "dumb";
  base::RunLog log(options);
  app::Frame frame{log, watcher, app::preparing, nullptr, {}, {}, {}, {}, line.json_log};
  return app::guarded(line, frame);
}

}  // namespace

int main(int count, char** values) {
  holdfast::base::fill_standard_descriptors();
  holdfast::base::block_signals();  // before any thread is made
  holdfast::app::report_crashes(holdfast::app::supervisor_of_this_process() != 0);
  holdfast::app::answer_stack_requests();
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is then an error of write, with words
  holdfast::app::report_foreign_exits();
  holdfast::host::end_process(carry_out({values + 1, values + count}));
}
