// The model knows the sample, the engine knows where it came from.
#include "engine/weighing.hpp"

#include <cmath>
#include <string>

#include "base/plugin_guard.hpp"

namespace holdfast::engine {

double weigh(const Model& model, std::span<const Batch> batches, std::string_view table) {
  const base::PluginCallScope running("model", "weight");
  double total = 0;
  try {
    for (const Batch& batch : batches)
      if (!batch.samples.empty()) total += model.weight(batch);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kBadData) throw;
    const std::string place = "[" + std::string(table) + "]" + (error.where().empty() ? "" : " " + error.where());
    throw Error(error.code(), error.reason(), place, error.message(), error.hint());
  }
  if (total >= 0 && std::isfinite(total)) return total;
  throw Error(ExitCode::kBug, "model.weight", "model",
              "weight() gave " + std::to_string(total) + "; it counts units and is a finite number, at least 0");
}

}  // namespace holdfast::engine
