// `holdfast eval`: the recipe of a generation, weights of its end, its best or a checkpoint, one pass over the eval
// set.
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/worker/assembly.hpp"
#include "app/worker/commands.hpp"
#include "app/worker/weights.hpp"
#include "base/io_error.hpp"
#include "checkpoint/home.hpp"
#include "checkpoint/store.hpp"
#include "telemetry/quantity.hpp"

namespace holdfast::app {
namespace {

namespace fs = std::filesystem;

struct Choice {
  std::string generation, weights;
};

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/// Weights of a checkpoint folder, after every checksum was verified; a safetensors file as it is.
std::string weights_at(const std::string& path) {
  if (!fs::is_directory(path)) return path;
  const auto loaded = checkpoint::Store::inspect(fs::canonical(path).string());
  return loaded.path + "/model.safetensors";
}

Choice choose(const CommandLine& line, const checkpoint::Store::Told& told) {
  const std::string& target = line.targets.front();
  const auto generation = checkpoint::RunHome::look(target);
  if (generation.state == checkpoint::GenerationState::kAbsent)
    throw Error(ExitCode::kMissingInput, "eval.no_run", target, "there is no run here to evaluate",
                "`holdfast status DIR` lists the runs below a folder");
  const bool is_checkpoint = exists(target + "/manifest.json");
  if (line.checkpoint == "best") {
    if (const std::string best = generation.path + "/best.safetensors"; exists(best)) return {generation.path, best};
    throw Error(ExitCode::kMissingInput, "eval.no_best", generation.path, "no best weights were saved",
                "the recipe needs a [dataset.eval] for that; try --checkpoint final");
  }
  if (line.checkpoint != "final") return {generation.path, weights_at(line.checkpoint)};
  if (is_checkpoint) return {generation.path, weights_at(target)};
  if (const std::string final_weights = generation.path + "/model.safetensors"; exists(final_weights))
    return {generation.path, final_weights};
  const auto newest = checkpoint::Store(generation.path, {}).newest(told);
  if (!newest)
    throw Error(ExitCode::kMissingInput, "eval.no_weights", generation.path, "no weights were saved yet",
                "`holdfast run` saves some every 10 minutes and at the end");
  return {generation.path, newest->path + "/model.safetensors"};
}

}  // namespace

int eval_command(const CommandLine& line, Frame& frame) {
  const Choice choice = choose(line, [&frame](const std::string& why) { frame.log.warn(why); });
  Source source = source_of(line, choice.generation + "/recipe.toml");
  Assembly assembly(line, source, frame.log);
  if (!assembly.recipe().eval_data)
    throw Error(ExitCode::kBadRecipe, "eval.no_data", source.recipe, "the recipe has no [dataset.eval]",
                "name one with --set dataset.eval.plugin=... and its options");
  assembly.build();
  load_weights(assembly.model(), choice.weights);
  engine::Trainer trainer(assembly.parts());
  const auto scores = trainer.evaluate();
  if (line.json) {
    nlohmann::ordered_json object = {{"weights", choice.weights}, {"scores", nlohmann::ordered_json::object()}};
    for (const auto& [name, value] : scores) object["scores"][name] = value;
    print(object.dump(2) + "\n");
    return 0;
  }
  std::string text = "weights  " + choice.weights + "\n";
  for (const auto& [name, value] : scores)
    text += name + std::string(name.size() < 9 ? 9 - name.size() : 1, ' ') + telemetry::number_text(value) + "\n";
  print(text);
  return 0;
}

}  // namespace holdfast::app
