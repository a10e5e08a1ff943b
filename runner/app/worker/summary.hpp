// The last words of a run: what was reached and where everything lies. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "checkpoint/home.hpp"
#include "engine/trainer.hpp"
#include "spec/recipe.hpp"
#include "telemetry/status.hpp"

namespace holdfast::app {

struct SummaryFacts {
  const spec::Recipe& recipe;
  const checkpoint::Generation& generation;
  const engine::Outcome& outcome;
  const telemetry::Status& status;
  std::string target;  ///< SPEC as the user wrote it
  std::chrono::nanoseconds took{};
};

std::string summary(const SummaryFacts&);

/// For a run that has nothing left to do.
std::string already_done(const spec::Recipe&, const checkpoint::Generation&, const std::optional<telemetry::Status>&,
                         const std::string& target);

}  // namespace holdfast::app
