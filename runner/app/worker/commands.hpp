// The worker's commands. Each returns the exit code or throws; results go to stdout, everything else to the log.
#pragma once

#include "app/command/command_line.hpp"
#include "app/worker/frame.hpp"

namespace holdfast::app {

int run_command(const CommandLine& line, Frame& frame);
int validate_command(const CommandLine& line, Frame& frame);
int plan_command(const CommandLine& line, Frame& frame);
int eval_command(const CommandLine& line, Frame& frame);
int plugins_command(const CommandLine& line, Frame& frame);
int schema_command(const CommandLine& line, Frame& frame);

}  // namespace holdfast::app
