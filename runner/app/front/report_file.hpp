// `holdfast report RUN_DIR`, and the report that a run leaves when it ends.
#pragma once

#include <string>

namespace holdfast::app {

/// Makes the report of a generation and writes it to `file`, replaced atomically. Errors 73, 74, 77 when it cannot be
/// written; there is no other.
void write_report(const std::string& generation, const std::string& file, const std::string& version);

/// The command: `path` is a run home, a generation or a checkpoint; `output` a file, "-" for the page itself, empty for
/// report.html in the generation. Gives what goes to standard output: the path written, or the page. Error 66 when
/// there is no run.
std::string report_command(const std::string& path, const std::string& output, const std::string& version);

}  // namespace holdfast::app
