// What an attempt was made from, and the tombstone: a run that failed for good and whose inputs are the same fails at
// once, so that a restarter that knows nothing does not burn hours.
#pragma once

#include <string>

#include "app/command/command_line.hpp"
#include "checkpoint/home.hpp"
#include "host/host.hpp"
#include "spec/recipe.hpp"

namespace holdfast::app {

/// One line for each thing: the recipe in effect, this version, each plugin file, and each file or folder that a
/// plugin option names by its path (size, time of change, number on its device). Reads no contents.
std::string inputs_of(const spec::Recipe& recipe, host::Host& host);

/// Leaves them in the generation, for the next attempt to compare with.
void keep_inputs(const std::string& generation, const std::string& inputs);

/// Throws the last attempt's own exit code (reason "run.tombstone") when it failed for good (65, 66, 70, 77, 78, 80,
/// 81, 82) less than an hour ago and the inputs are the same. Not when --retry, --new or --resume ask for a try.
void refuse_tombstone(const CommandLine& line, const checkpoint::Generation& generation, const std::string& inputs);

}  // namespace holdfast::app
