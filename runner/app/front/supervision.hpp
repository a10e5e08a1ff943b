// `holdfast run --supervise`: one run under the supervisor, with what recipes, homes and status files say.
#pragma once

#include <string>

#include "app/command/command_line.hpp"
#include "app/front/batch.hpp"

namespace holdfast::app {

/// Runs the recipe or folder `target` until it is done, a stop was carried out, or the supervisor gives up. A recipe
/// that cannot be read is left to the worker, which tells every fault. `stopped` is set when a stop was asked for.
JobResult run_supervised(const CommandLine& line, const std::string& target, const std::string& worker, bool& stopped);

}  // namespace holdfast::app
