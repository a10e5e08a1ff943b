// Lists only files that are there.
#include "app/worker/summary.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/exit_codes.hpp"
#include "base/text.hpp"
#include "telemetry/quantity.hpp"

namespace holdfast::app {
namespace {

namespace fs = std::filesystem;

std::string row(const std::string& name, const std::string& text) {
  return "  " + name + std::string(name.size() < 13 ? 13 - name.size() : 1, ' ') + text + "\n";
}

std::string scores_text(const std::vector<std::pair<std::string, double>>& scores) {
  std::string text;
  for (const auto& [name, value] : scores)
    text += (text.empty() ? "" : ", ") + name + " " + telemetry::number_text(value);
  return text;
}

std::int64_t checkpoints_in(const std::string& folder) {
  std::error_code failure;
  std::int64_t count = 0;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
    if (entry->path().filename().string().starts_with("update-")) ++count;
  return count;
}

std::string files_text(const std::string& folder) {
  constexpr std::array<std::pair<const char*, const char*>, 6> kFiles = {{{"weights", "model.safetensors"},
                                                                          {"best weights", "best.safetensors"},
                                                                          {"recipe", "recipe.toml"},
                                                                          {"log", "run.log"},
                                                                          {"events", "events.jsonl"},
                                                                          {"report", "report.html"}}};
  std::string text;
  for (const auto& [name, file] : kFiles)
    if (access((folder + "/" + file).c_str(), F_OK) == 0) text += row(name, file);
  if (const auto count = checkpoints_in(folder + "/checkpoints"); count > 0)
    text += row("checkpoints", "checkpoints/ (" + std::to_string(count) + ")");
  return text;
}

std::string memory_text(const device::MemoryReading& memory) {
  return "peak device memory " + base::human_bytes(memory.peak) +
         (memory.budget > 0 ? " of " + base::human_bytes(memory.budget) : "");
}

}  // namespace

std::string summary(const SummaryFacts& facts) {
  const auto& at = facts.outcome;
  const double seconds = std::chrono::duration<double>(facts.took).count();
  std::string text = "\n" + facts.recipe.run.string("name") + ": " + at.reason + " (" + base::human_duration(seconds) +
                     ", start-up included)\n";
  if (!at.last_eval.empty()) text += row("evaluation", scores_text(at.last_eval));
  if (at.progress.best_metric)
    text +=
        row("best", telemetry::number_text(*at.progress.best_metric) + " " + facts.recipe.checkpoint.string("best") +
                        ", update " + std::to_string(at.progress.best_update));
  if (facts.status.skipped_windows > 0)
    text += row("dropped", std::to_string(facts.status.skipped_windows) + " windows");
  if (facts.status.skipped_samples > 0)
    text += row("skipped", std::to_string(facts.status.skipped_samples) + " samples");
  text += row("memory", memory_text(facts.memory));
  text += row("folder", facts.generation.path) + files_text(facts.generation.path);
  if (at.code == ExitCode::kOk)
    text += row("next", "holdfast eval " + fs::path(facts.generation.path).parent_path().string());
  else
    text +=
        row("next", at.code == ExitCode::kStoppedAfterSave ? "holdfast run " + facts.target + "    goes on from here"
                                                           : std::string(base::exit_code_row(at.code).meaning));
  return text;
}

std::string go_on_target(const CommandLine& line, const std::string& home) {
  const std::string& target = line.targets.front();
  std::error_code failure;
  const bool folder = fs::is_directory(target, failure);
  if (folder ? fs::equivalent(target, home, failure) : line.output.empty()) return target;
  return home;
}

std::string already_done(const spec::Recipe& recipe, const checkpoint::Generation& generation,
                         const std::optional<telemetry::Status>& status, const std::string& target) {
  std::string text = recipe.run.string("name") + ": nothing to do, " +
                     (status && !status->cause.empty() ? status->cause : std::string("the target was reached"));
  if (status && !status->ended_at.empty()) text += " at " + status->ended_at;
  return text + "\n" + row("folder", generation.path) +
         row("next", "holdfast run " + target + " --new    trains once more; a higher train." +
                         (recipe.train.has("updates") ? "updates" : "epochs") + " goes on");
}

}  // namespace holdfast::app
