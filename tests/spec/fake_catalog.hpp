// A catalog with a few invented plugins, a folder that vanishes, and recipes built from the good one.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "spec/recipe.hpp"
#include "temp_folder.hpp"

namespace holdfast::spec::testing {

class FakeCatalog : public Catalog {
 public:
  FakeCatalog() {
    OptionTable& mlp = add(Kind::kModel, "mlp");
    mlp.integers("hidden", {128}).min(1).max(65536).doc("Width of each hidden layer.");
    mlp.number("dropout", 0.0).min(0).below(1).doc("Share of units dropped.");
    mlp.string("activation", "relu").one_of({"relu", "gelu"}).doc("Between layers.");
    OptionTable& idx = add(Kind::kDataset, "idx");
    idx.path("images").or_one().min_items(1).required().doc("IDX files.");
    idx.path("labels").required().doc("An IDX file.");
    idx.number("scale", 1.0).doc("Multiplies every value.");
    OptionTable& mix = add(Kind::kDataset, "mix");
    mix.size("cache").min(0).doc("Bytes kept.");
    add(Kind::kStrategy, "accumulate").integer("micro_batch_size").min(1).required().doc("Samples.");
    OptionTable& amp = add(Kind::kStrategy, "amp");
    amp.string("dtype", "bf16").one_of({"bf16", "fp16"}).doc("Arithmetic.");
    OptionTable scaler;
    scaler.number("initial", 65536.0).above(0).doc("First scale.");
    scaler.integer("growth", 2000).min(1).doc("Updates before growth.");
    amp.table("scaler", std::move(scaler)).doc("Loss scaling.");
    OptionTable& periodic = add(Kind::kHook, "periodic_checkpoint");
    periodic.interval("every", Interval{Interval::Unit::kTime, 0, std::chrono::minutes(10)}).doc("How often.");
    add(Kind::kHook, "oom_checkpoint");
    add(Kind::kHook, "memory_guard").number("at", 0.9).above(0).max(1).doc("Share.");
    add(Kind::kHook, "skip_corrupt").number("max_share", 0.01).min(0).max(1).doc("Largest share.");
  }

  OptionTable& add(Kind kind, const std::string& name) { return tables_[{kind, name}]; }

  const OptionTable* options(Kind kind, std::string_view plugin, Refusal& refusal) override {
    if (plugin == "refused") {
      refusal = {"the plugin was built for LibTorch 1.0", "rebuild it"};
      return nullptr;
    }
    const auto found = tables_.find({kind, std::string(plugin)});
    if (found != tables_.end()) return &found->second;
    refusal.why = "no plugin '" + std::string(plugin) + "' in /lib/plugins";
    return nullptr;
  }
  std::vector<std::string> names(Kind kind) override {
    std::vector<std::string> out;
    for (const auto& [key, table] : tables_)
      if (key.first == kind) out.push_back(key.second);
    if (kind == Kind::kHook) out.insert(out.end(), {"gone", "refused"});  // there, but they cannot be loaded
    return out;
  }

 private:
  std::map<std::pair<Kind, std::string>, OptionTable> tables_;
};

/// A fresh folder, removed at the end of the scope.
class Folder {
 public:
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name, std::ios::binary) << text;
    return path_ + "/" + name;
  }

 private:
  test::TempFolder folder_;
  std::string path_ = std::filesystem::canonical(folder_.path()).string();
};

/// Lines 1 to 11; what a test adds begins at line 12.
inline const std::string kHead =
    "[model]\nplugin = \"mlp\"\nhidden = [64]\n"
    "[dataset.train]\nplugin = \"idx\"\nimages = \"data/train-images.gz\"\nlabels = \"data/train-labels.gz\"\n"
    "[train]\nepochs = 3\nbatch_size = 64\n\n";

struct Trial {
  std::vector<Override> overrides = {};
  std::function<std::optional<std::string>(std::string_view)> environment = {};
  bool catalog = true;
  std::string working_folder = "/work";
};

inline Recipe read(const Folder& folder, const std::string& text, const Trial& trial) {
  FakeCatalog catalog;
  ReadOptions options;
  options.overrides = trial.overrides;
  options.working_folder = trial.working_folder;
  options.environment = trial.environment;
  if (trial.catalog) options.catalog = &catalog;
  return read_recipe(folder.write("r.toml", text), options);
}

/// Reads `text` as "r.toml" in a fresh folder.
inline Recipe read(const std::string& text, const Trial& trial = {}) { return read(Folder{}, text, trial); }

/// The rendered faults of `text`, its folder cut away; "no fault" when there is none.
inline std::string faults(const std::string& text, const Trial& trial = {}, int code = 78) {
  const Folder folder;
  try {
    read(folder, text, trial);
  } catch (const Faults& error) {
    CHECK(static_cast<int>(error.code()) == code);
    std::string what = error.what();
    for (std::size_t at; (at = what.find(folder.path() + "/")) != std::string::npos;)
      what.erase(at, folder.path().size() + 1);
    return what;
  }
  return "no fault";
}

}  // namespace holdfast::spec::testing
