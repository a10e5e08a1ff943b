// Comparisons in which NaN loses.
#include "engine/ranking.hpp"

#include <cmath>
#include <sstream>

namespace holdfast::engine {
namespace {

bool improves(double value, const std::optional<double>& best, bool maximise) {
  if (std::isnan(value)) return false;
  return !best || (maximise ? value > *best : value < *best);
}

double score(const EvalReport& report, const std::string& metric, const char* key) {
  std::string known;
  for (const auto& [name, value] : report.scores) {
    if (name == metric) return value;
    known += (known.empty() ? "" : ", ") + name;
  }
  throw Error(ExitCode::kBadRecipe, "metric.unknown", key, "got '" + metric + "'; the model's scores are: " + known);
}

}  // namespace

Ranked rank(const EvalReport& report, const plan::TrainSettings& settings, Progress& progress) {
  Ranked ranked;
  // Both names are looked up before anything changes.
  const double value = score(report, settings.best.metric, "checkpoint.best");
  const std::optional<double> watched =
      settings.early_stop ? std::optional(score(report, settings.early_stop->metric, "train.early_stop.metric"))
                          : std::nullopt;
  if (improves(value, progress.best_metric, settings.best.maximise)) {
    progress.best_metric = value;
    progress.best_update = report.update;
    ranked.best = true;
  }
  if (!watched) return ranked;
  const auto& early = *settings.early_stop;
  if (improves(*watched, progress.early_best, early.maximise)) {
    progress.early_best = *watched;
    progress.evals_without_improvement = 0;
  } else if (++progress.evals_without_improvement >= early.patience) {
    std::ostringstream why;
    why << "early stop at update " << report.update << ": '" << early.metric << "' has not improved in "
        << progress.evals_without_improvement << " evaluations";
    if (progress.early_best) why << " (best: " << *progress.early_best << ")";
    ranked.stop = why.str();
  }
  return ranked;
}

}  // namespace holdfast::engine
