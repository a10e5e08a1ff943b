// A run's figures for telemetry: what they are made from here, and the saver that is timed on its way to the store.
#pragma once

#include <memory>
#include <string>

#include "app/worker/flight.hpp"
#include "base/log.hpp"
#include "checkpoint/home.hpp"
#include "engine/trainer.hpp"
#include "spec/recipe.hpp"
#include "telemetry/life_signs.hpp"
#include "telemetry/metrics/exporter.hpp"
#include "telemetry/metrics/run_metrics.hpp"

namespace holdfast::app {

/// The metrics of a run of this recipe; `home` is where free space is asked for. `log` outlives them.
std::unique_ptr<telemetry::RunMetrics> run_metrics(const spec::Recipe& recipe, const std::string& home,
                                                   base::RunLog& log);
telemetry::RunIdentity run_identity(const spec::Recipe& recipe, const checkpoint::Generation& generation, int attempt);
/// For the events start and resume: what trains, and on which machine.
telemetry::EventFields start_facts(const spec::Recipe& recipe);
telemetry::ExporterSettings exporter_settings(const spec::Recipe& recipe, const checkpoint::Generation& generation,
                                              base::RunLog& log);

/// Failures and restarts of the home by cause into its metrics; every cause that can be a failure is there from the
/// start.
void remember_failures(const std::string& home, telemetry::RunMetrics& metrics);
/// Of the recorder; a supervisor is named by the environment.
FlightSettings flight_settings(const spec::Recipe& recipe, const checkpoint::Generation& generation, int attempt);

/// Tells how long each save took and which failed, and hands everything on.
class MeteredSaver : public engine::Saver {
 public:
  explicit MeteredSaver(engine::Saver& saver) : saver_(saver) {}
  /// Before the first save.
  void attach(telemetry::RunMetrics& metrics) { metrics_ = &metrics; }
  SaveReport save(const base::StateView& state, const Request& request) override;
  [[nodiscard]] bool in_background() const override { return saver_.in_background(); }
  void begin(const std::function<base::StateView()>& snapshot, const Request& request) override;
  std::optional<Settled> settle(bool wait) override;
  void note_present() override { saver_.note_present(); }
  std::optional<std::string> wanted() override { return saver_.wanted(); }
  std::optional<Found> newest(std::int64_t window, const std::function<void(const std::string&)>& told) override {
    return saver_.newest(window, told);
  }

 private:
  engine::Saver& saver_;
  telemetry::RunMetrics* metrics_ = nullptr;
  std::int64_t bytes_begun_ = 0;
};

}  // namespace holdfast::app
