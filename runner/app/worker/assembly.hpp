// Everything a run is made of, built from a recipe: plugins, data sets, model, strategies, hooks. Touches no run home.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/command/command_line.hpp"
#include "app/front/source.hpp"
#include "base/log.hpp"
#include "engine/trainer.hpp"
#include "host/host.hpp"
#include "spec/recipe.hpp"
#include "telemetry/metrics/run_metrics.hpp"

namespace holdfast::app {

class Assembly {
 public:
  /// Loads plugins and reads the recipe. Throws spec::Faults, Error 80 or 77.
  Assembly(const CommandLine& line, const Source& source, base::RunLog& log);
  ~Assembly();
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  [[nodiscard]] const spec::Recipe& recipe() const { return recipe_; }
  [[nodiscard]] host::Host& host() { return *host_; }

  /// Gauges of the components go there; without it they are dropped. Before build(). `metrics` outlives this object.
  void report_to(telemetry::RunMetrics& metrics);

  /// Device, threads and switches of the recipe, then data sets, model (weights drawn from the seed alone), strategies
  /// and hooks. Throws what their constructors throw, and Error 69 for the device.
  void build();
  /// After build(), where the model is to be trained: Error 78 when the device budget is smaller than its weights and
  /// one gradient.
  void require_room() const;
  /// The whole state, for the first time; a view as Trainer::state() gives it. Error 78 when the device budget has no
  /// room for the optimizer's part of it and the ladder may not move that to the host.
  [[nodiscard]] base::StateView first_state(engine::Trainer& trainer) const;
  /// Only the data sets.
  void build_data();

  /// What the trainer needs; observer, saver and stop flag are the caller's. After build().
  [[nodiscard]] engine::TrainerParts parts() const;
  [[nodiscard]] Model& model() { return *model_; }
  [[nodiscard]] const Model& model() const { return *model_; }
  [[nodiscard]] const Dataset& train_data() const { return *train_; }
  [[nodiscard]] const Dataset* eval_data() const { return eval_.get(); }

 private:
  /// A component, made by its plugin. Error 70 naming the plugin, 88 when the host has no memory for it.
  std::unique_ptr<Component> make(const spec::PluginTable& table, Kind kind, const DataFacts* facts);
  template <class C>
  std::unique_ptr<C> create(const spec::PluginTable& table, const DataFacts* facts);
  void apply_machine_settings() const;
  void apply_cuda_settings(at::Device device) const;

  class Services;
  std::unique_ptr<Services> services_;
  std::unique_ptr<host::Host> host_;
  spec::Recipe recipe_;
  DataFacts facts_;
  std::unique_ptr<Dataset> train_, eval_;
  std::unique_ptr<Model> model_;
  std::vector<std::pair<std::string, std::unique_ptr<Strategy>>> strategies_;
  std::vector<std::pair<std::string, std::unique_ptr<Hook>>> hooks_;
};

}  // namespace holdfast::app
