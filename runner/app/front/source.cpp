// Overrides of the command line become overrides of the recipe, so that the effective recipe tells the truth.
#include "app/front/source.hpp"

#include <cstdlib>
#include <filesystem>

#include "base/io_error.hpp"
#include "checkpoint/home.hpp"

namespace holdfast::app {

std::optional<std::string> environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

Source source_of(const CommandLine& line, const std::string& target) {
  Source source;
  source.recipe = target;
  source.reading.working_folder = std::filesystem::current_path().string();
  source.reading.environment = environment;
  for (const auto& set : line.sets) {
    const auto equals = set.find('=');
    source.reading.overrides.push_back({set.substr(0, equals), set.substr(equals + 1)});
  }
  std::error_code failure;
  if (std::filesystem::is_directory(target, failure)) {
    source.home = checkpoint::RunHome::home_of(base::absolute_path(target));
    const std::string generation = checkpoint::RunHome::look(target).path;
    source.recipe = (generation.empty() ? source.home + "/current" : generation) + "/recipe.toml";
    if (!std::filesystem::exists(source.recipe, failure))
      throw Error(ExitCode::kMissingInput, "run.no_recipe", target,
                  "this run folder holds no recipe to continue: " + source.recipe + " does not exist",
                  "name the recipe itself");
  }
  if (!line.output.empty()) source.home = base::absolute_path(line.output);
  return source;
}

RunSettings run_settings(const CommandLine& line, const std::string& target) {
  Source source = source_of(line, target);
  if (!source.home.empty()) source.reading.overrides.push_back({"run.output", source.home});
  const spec::Recipe recipe = spec::read_recipe(source.recipe, source.reading);
  RunSettings settings;
  settings.name = recipe.run.string("name");
  settings.home = recipe.run.path("output");
  settings.device = recipe.run.string("device");
  settings.keep = recipe.checkpoint.integer("keep");
  settings.max_restarts = recipe.supervise.integer("max_restarts");
  settings.backoff = recipe.supervise.duration("backoff");
  settings.hang_timeout = recipe.supervise.duration("hang_timeout");
  return settings;
}

}  // namespace holdfast::app
