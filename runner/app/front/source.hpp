// What SPEC on the command line leads to: a recipe, and the run home where a run folder was named.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/command/command_line.hpp"
#include "spec/recipe.hpp"

namespace holdfast::app {

struct Source {
  std::string recipe;  ///< path to read
  std::string home;    ///< absolute; empty: what the recipe says
  spec::ReadOptions reading;
};

/// A file is a recipe; a folder is a run home, generation or checkpoint whose recipe.toml is continued (Error 66 when
/// it holds none). `--output` wins over both. Environment and current folder are read here.
Source source_of(const CommandLine& line, const std::string& target);

/// What the front wants to know of a run before its worker exists: the recipe is read without loading a plugin, so
/// faults in plugin tables pass. Throws Faults and Errors as read_recipe and source_of do.
struct RunSettings {
  std::string name, home, device;
  std::int64_t keep = 3;  ///< checkpoints
  std::int64_t max_restarts = 5;
  Duration backoff{}, hang_timeout{};
};
RunSettings run_settings(const CommandLine& line, const std::string& target);

/// An environment variable; the one place that reads the environment.
std::optional<std::string> environment(std::string_view name);

}  // namespace holdfast::app
