// The best of a state is known by its update, its value and its identity, not by its name alone.
#include "app/worker/best_start.hpp"

#include <cstdio>
#include <filesystem>

#include "engine/progress_json.hpp"

namespace holdfast::app {
namespace {

std::string beside(const std::string& checkpoint, std::int64_t update) {
  char name[48];
  std::snprintf(name, sizeof name, "update-%09lld", static_cast<long long>(update));
  return std::filesystem::path(checkpoint).parent_path() / name;
}

/// The checkpoint at `path` when it is the best that `state` means; otherwise `why` not.
std::optional<checkpoint::Loaded> best_of(const checkpoint::Loaded& state, const engine::Progress& progress,
                                          const std::string& path, std::string& why) {
  try {
    auto best = checkpoint::Store::load(path);
    const auto its = engine::progress_from_json(best.state.progress_json, path + "/state.json").progress;
    if (its.update == progress.best_update && its.best_update == progress.best_update &&
        its.best_metric == progress.best_metric && best.state.identity_json == state.state.identity_json)
      return best;
    why = path + ": it is a checkpoint of another run";
  } catch (const Error& error) {
    why = error.where() + ": " + error.message();
  }
  return std::nullopt;
}

}  // namespace

void take_best_along(Start& start, const Told& told) {
  if (!start.state || !start.new_generation) return;
  auto saved = engine::progress_from_json(start.state->state.progress_json, start.state->path + "/state.json");
  engine::Progress& progress = saved.progress;
  if (progress.best_update <= 0 || progress.best_update == progress.update) return;
  std::string why;
  start.best = best_of(*start.state, progress, beside(start.state->path, progress.best_update), why);
  if (start.best) return;
  told("the best checkpoint so far, of update " + std::to_string(progress.best_update) +
       ", cannot be taken along; the best value begins anew: " + why);
  progress.best_metric.reset();
  progress.best_update = 0;
  start.state->state.progress_json = engine::to_json(saved);
}

void keep_best_if(Start& start, const base::StateView& taken_over) {
  if (!start.best) return;
  const auto progress = engine::progress_from_json(taken_over.progress_json).progress;
  if (progress.best_update != start.best->counters.update) start.best.reset();
}

}  // namespace holdfast::app
