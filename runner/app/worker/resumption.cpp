// The finished generation's status.json says which target it had; checkpoints say where it stands.
#include "app/worker/resumption.hpp"

#include <unistd.h>

#include <filesystem>

#include "app/worker/saved_mark.hpp"
#include "base/io_error.hpp"
#include "telemetry/status.hpp"

namespace holdfast::app {
namespace {

namespace fs = std::filesystem;
using checkpoint::GenerationState;

std::string canonical(const std::string& path) {
  std::error_code failure;
  const auto found = fs::canonical(path, failure);
  return failure ? base::absolute_path(path) : found.string();
}

/// A run that lost its checkpoints must not train from nothing as if it had never begun.
void require_never_saved(const checkpoint::Generation& generation) {
  const auto mark = saved_mark(generation.path);
  if (!mark) return;
  throw Error(ExitCode::kMissingInput, "resume.vanished", generation.path + "/checkpoints",
              "there is no checkpoint, but this run has saved one: " + *mark,
              "put the folder back from a copy, or start from nothing with --new");
}

bool wants_fresh(const CommandLine& line) { return line.fresh || line.resume == "never"; }

Start from_requested(const checkpoint::Generation& current, checkpoint::Loaded requested) {
  Start start;
  if (current.state == GenerationState::kUnfinished) {
    const std::string newest = checkpoint::Store(current.path, {}).newest_path();
    start.new_generation = newest.empty() || canonical(newest) != canonical(requested.path);
  }
  start.why = "going on from update " + std::to_string(requested.counters.update) + " of " + requested.path +
              (start.new_generation ? " in a new generation" : "");
  start.state = std::move(requested);
  return start;
}

}  // namespace

bool target_raised(const spec::Recipe& recipe, const checkpoint::Generation& finished) {
  const auto status = telemetry::read_status(finished.path);
  if (!status || status->updates_per_epoch <= 0) return false;
  const std::int64_t target = recipe.train.has("updates") ? recipe.train.integer("updates")
                                                          : recipe.train.integer("epochs") * status->updates_per_epoch;
  return target > status->total_updates;
}

bool nothing_to_do(const CommandLine& line, const spec::Recipe& recipe, const std::string& home,
                   checkpoint::Generation& generation) {
  // A home that cannot be looked into is told when it is opened, as the output it is.
  if (access(home.c_str(), R_OK | X_OK) != 0) return false;
  generation = checkpoint::RunHome::look(home);
  if (generation.state != GenerationState::kFinished || wants_fresh(line) || line.resume != "auto") return false;
  return recipe.run.string("when_done") == "exit" && !target_raised(recipe, generation);
}

void require_newest(const CommandLine& line) {
  const std::string& target = line.targets.front();
  std::error_code failure;
  if (!fs::is_directory(target, failure)) return;
  const std::string home = checkpoint::RunHome::home_of(base::absolute_path(target));
  const auto named = checkpoint::RunHome::look(target), newest = checkpoint::RunHome::look(home);
  const auto refuse = [&](const std::string& what, const std::string& newer) {
    throw Error(ExitCode::kUsage, "run.not_newest", target,
                "the run goes on from the newest " + what + ", which is " + newer + " and not the one named",
                "`holdfast run " + home + "` goes on from the newest; `holdfast run " + home + " --resume " + target +
                    "` begins a new generation from the one named");
  };
  if (named.path != newest.path) refuse("generation", newest.name);
  const std::string real = canonical(target);
  if (real == canonical(home) || real == canonical(named.path)) return;
  const std::string checkpoint = checkpoint::Store(newest.path, {}).newest_path();
  if (real != canonical(checkpoint)) refuse("checkpoint", fs::path(checkpoint).filename().string());
}

bool requests_checkpoint(const CommandLine& line) { return line.resume != "auto" && line.resume != "never"; }

std::optional<checkpoint::Loaded> requested_checkpoint(const CommandLine& line, const Told& told,
                                                       const checkpoint::Store::Accept& accept) {
  if (!requests_checkpoint(line)) return std::nullopt;
  const fs::path real = canonical(line.resume);
  const std::string name = real.filename().string();
  std::error_code failure;
  // A checkpoint by its name is read as one, however damaged: nothing else may be taken in its place.
  if (name.starts_with("update-") || fs::exists(real / "manifest.json", failure) || !fs::is_directory(real, failure)) {
    auto loaded = checkpoint::Store::load(real.string());
    accept(loaded);
    return loaded;
  }
  const auto found = checkpoint::RunHome::look(name == "checkpoints" ? real.parent_path().string() : real.string());
  if (found.state == GenerationState::kAbsent)
    throw Error(ExitCode::kMissingInput, "resume.no_checkpoint", real.string(),
                "this is neither a checkpoint (there is no manifest.json) nor a run folder",
                "name a folder like RUN_DIR/current/checkpoints/update-000000500");
  auto newest = checkpoint::Store(found.path, {}).newest(told, accept);
  if (!newest)
    throw Error(ExitCode::kMissingInput, "resume.no_checkpoint", real.string(),
                "no checkpoint was saved in this run's generation " + found.name,
                "name a folder like RUN_DIR/current/checkpoints/update-000000500, or leave --resume out");
  return newest;
}

Start choose_start(const CommandLine& line, const checkpoint::Generation& current, bool raised,
                   std::optional<checkpoint::Loaded> requested, const Told& told,
                   const checkpoint::Store::Accept& accept) {
  if (requested) return from_requested(current, std::move(*requested));
  Start start;
  if (current.state == GenerationState::kAbsent) return start;
  if (wants_fresh(line)) {
    start.why = "starting a new generation; " + current.name + " is left as it is";
    return start;
  }
  if (current.state == GenerationState::kFinished && !raised) {
    start.why = "the generation " + current.name + " is finished; starting the next one";
    return start;
  }
  start.new_generation = false;
  start.state = checkpoint::Store(current.path, {}).newest(told, accept);
  if (!start.state) require_never_saved(current);
  start.why = start.state ? "going on from update " + std::to_string(start.state->counters.update)
                          : "no checkpoint was saved yet; starting from the beginning";
  if (raised) start.why += "; the recipe's target was raised";
  return start;
}

}  // namespace holdfast::app
