// `holdfast doctor [SPEC]`: what the checks need to know of a run and of this process.
#pragma once

#include <string>

#include "app/command/command_line.hpp"
#include "supervise/checkup.hpp"

namespace holdfast::app {

/// Facts for the recipe or run folder that the command line names, or for no run. Throws what reading a recipe throws.
/// `libtorch` is the version that the worker was built with.
supervise::CheckupFacts checkup_facts(const CommandLine& line, const std::string& libtorch);

}  // namespace holdfast::app
