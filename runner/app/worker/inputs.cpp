// stat(2) of what the recipe names; status.json says how and when the last attempt ended.
#include "app/worker/inputs.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <set>
#include <variant>

#include "base/atomic_file.hpp"
#include "base/text.hpp"
#include "supervise/record.hpp"
#include "telemetry/status.hpp"

namespace holdfast::app {
namespace {

constexpr const char* kInputsFile = "/inputs.txt";
constexpr std::int64_t kHour = 3600;
constexpr std::array kForGood = {ExitCode::kBadData,           ExitCode::kMissingInput, ExitCode::kBug,
                                 ExitCode::kPermission,        ExitCode::kBadRecipe,    ExitCode::kPlugin,
                                 ExitCode::kDeviceOutOfMemory, ExitCode::kDiverged};

std::string stat_line(const std::string& path) {
  struct stat at {};
  if (::stat(path.c_str(), &at) != 0) return "absent " + path + "\n";
  std::array<char, 160> figures{};
  std::snprintf(figures.data(), figures.size(), "%lld %lld.%09ld %llu:%llu ", static_cast<long long>(at.st_size),
                static_cast<long long>(at.st_mtim.tv_sec), at.st_mtim.tv_nsec,
                static_cast<unsigned long long>(at.st_dev), static_cast<unsigned long long>(at.st_ino));
  return figures.data() + path + "\n";
}

void add_paths(const Options& options, std::set<std::string>& paths) {
  const auto add = [&](const std::string& text) {
    if (text.starts_with("/")) paths.insert(text);
  };
  for (const auto& [name, value] : options.values()) {
    if (const auto* text = std::get_if<std::string>(&value)) add(*text);
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) std::ranges::for_each(*texts, add);
    if (const auto* inner = std::get_if<std::shared_ptr<const Options>>(&value)) add_paths(**inner, paths);
  }
}

/// Seconds since status.json was written; negative where that cannot be said.
std::int64_t age_of_status(const std::string& generation) {
  struct stat at {};
  if (::stat((generation + "/status.json").c_str(), &at) != 0) return -1;
  return std::time(nullptr) - at.st_mtim.tv_sec;
}

}  // namespace

std::string inputs_of(const spec::Recipe& recipe, host::Host& host) {
  std::set<std::string> paths;
  if (!recipe.model_init.empty()) paths.insert(recipe.model_init);
  const auto add = [&](const spec::PluginTable& table) {
    paths.insert(host.report(table.plugin).path);
    add_paths(table.options, paths);
  };
  for (const auto& table : {recipe.model, recipe.train_data, recipe.eval_data})
    if (table) add(*table);
  for (const auto& table : recipe.strategies) add(table);
  for (const auto& table : recipe.hooks) add(table);
  std::array<char, 24> sum{};
  std::snprintf(sum.data(), sum.size(), "%016llx",
                static_cast<unsigned long long>(
                    supervise::slot_checksum(1, recipe.effective_toml.data(), recipe.effective_toml.size())));
  std::string text =
      "holdfast " HOLDFAST_VERSION " LibTorch " HOLDFAST_TORCH_VERSION "\nrecipe " + std::string(sum.data()) + "\n";
  for (const auto& path : paths) text += stat_line(path);
  return text;
}

void keep_inputs(const std::string& generation, const std::string& inputs) {
  base::write_file_atomic(generation + kInputsFile, inputs);
}

void refuse_tombstone(const CommandLine& line, const checkpoint::Generation& generation, const std::string& inputs) {
  if (line.retry || line.fresh || line.resume != "auto" || generation.path.empty()) return;
  const auto status = telemetry::read_status(generation.path);
  if (!status || status->state != "failed" || !status->exit_code) return;
  const auto code = static_cast<ExitCode>(*status->exit_code);
  if (std::ranges::find(kForGood, code) == kForGood.end()) return;
  const std::int64_t age = age_of_status(generation.path);
  if (age < 0 || age >= kHour) return;
  try {
    if (base::read_file(generation.path + kInputsFile, 1 << 20) != inputs) return;
  } catch (const Error&) {  // nothing to compare with
    return;
  }
  throw Error(code, "run.tombstone", generation.path,
              "this run failed " + base::human_duration(static_cast<double>(age)) + " ago with exit code " +
                  std::to_string(*status->exit_code) + ", and recipe, plugins and data are the same: " +
                  base::terminal_safe_line(status->cause.substr(0, status->cause.find('\n'))),
              "mend what it says; `--retry` tries again at once, and after an hour every start does");
}

}  // namespace holdfast::app
