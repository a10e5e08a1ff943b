// The last words of a run: what was reached and where everything lies. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "app/command/command_line.hpp"
#include "checkpoint/home.hpp"
#include "device/memory_meter.hpp"
#include "engine/trainer.hpp"
#include "spec/recipe.hpp"
#include "telemetry/status.hpp"

namespace holdfast::app {

struct SummaryFacts {
  const spec::Recipe& recipe;
  const checkpoint::Generation& generation;
  const engine::Outcome& outcome;
  const telemetry::Status& status;
  std::string target;  ///< SPEC that goes on with this run (see go_on_target)
  std::chrono::nanoseconds took{};
  device::MemoryReading memory;  ///< of the device domain
};

std::string summary(const SummaryFacts&);

/// SPEC for a hint: as the user wrote it where that leads to this run's home, else the home itself (a checkpoint was
/// named, or `--output`).
std::string go_on_target(const CommandLine& line, const std::string& home);

/// For a run that has nothing left to do.
std::string already_done(const spec::Recipe&, const checkpoint::Generation&, const std::optional<telemetry::Status>&,
                         const std::string& target);

}  // namespace holdfast::app
