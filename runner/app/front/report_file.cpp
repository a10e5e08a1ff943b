// Finds the generation and the time; the page is made by report.
#include "app/front/report_file.hpp"

#include "app/front/run_table.hpp"
#include "base/atomic_file.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "checkpoint/home.hpp"
#include "holdfast/error.hpp"
#include "report/report.hpp"
#include "telemetry/status.hpp"

namespace holdfast::app {
namespace {

std::string page_of(const std::string& generation, const std::string& version) {
  const auto status = telemetry::read_status(generation);
  return report::make_report(
      generation, {version, base::rfc3339_utc(base::Clock::real().wall()), status && is_interrupted(*status)});
}

}  // namespace

void write_report(const std::string& generation, const std::string& file, const std::string& version) {
  base::write_file_atomic(file, page_of(generation, version));
}

std::string report_command(const std::string& path, const std::string& output, const std::string& version) {
  const auto generation = checkpoint::RunHome::look(path);
  if (generation.state == checkpoint::GenerationState::kAbsent)
    throw Error(ExitCode::kMissingInput, "report.no_run", path, "there is no run here",
                "`holdfast status DIR` lists the runs below a folder");
  if (output == "-") return page_of(generation.path, version);
  const std::string file = output.empty() ? generation.path + "/report.html" : output;
  try {
    write_report(generation.path, file, version);
  } catch (const Error& error) {  // a missing folder is missing input to those who read
    if (error.code() != ExitCode::kMissingInput) throw;
    throw Error(ExitCode::kCannotCreate, error.reason(), error.where(), error.message(),
                "name a file in a folder that exists");
  }
  return base::terminal_safe_line(file) + "\n";
}

}  // namespace holdfast::app
