// The invariants of the loop's accounting, tested on numbers that may come from anybody.
#include "engine/progress_check.hpp"

#include <algorithm>

namespace holdfast::engine {
namespace {

constexpr std::int64_t kMostWindows = std::int64_t{1} << 53;

class Checker {
 public:
  explicit Checker(const std::string& where) : where_(where) {}

  void range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most, const std::string& why) {
    if (value >= least && value <= most) return;
    const std::string wanted =
        least == most ? std::to_string(least) : "from " + std::to_string(least) + " to " + std::to_string(most);
    throw Error(ExitCode::kMissingInput, "checkpoint.progress", where_,
                "progress." + std::string(name) + " is " + std::to_string(value) + "; it must be " + wanted +
                    (why.empty() ? "" : ": " + why),
                kDamagedHint);
  }

 private:
  const std::string& where_;
};

/// Samples in the first `windows` windows; no overflow below most_windows().
std::int64_t samples_in(const data::WindowPlan& plan, std::int64_t windows) {
  const std::int64_t an_epoch = plan.samples() - plan.dropped_per_epoch();
  return windows / plan.windows_per_epoch() * an_epoch + plan.at(windows).first;
}

std::int64_t most_windows(const data::WindowPlan& plan) {
  const std::int64_t epochs = (std::int64_t{1} << 62) / plan.samples() - 1;
  return epochs > kMostWindows / plan.windows_per_epoch() ? kMostWindows : epochs * plan.windows_per_epoch();
}

}  // namespace

void check_progress(const SavedProgress& saved, const data::WindowPlan& plan, const std::string& where) {
  const Progress& at = saved.progress;
  Checker check(where);
  check.range("window", at.window, 0, most_windows(plan), "no run comes further");
  check.range("update", at.update, 0, at.window, "a window gives at most one update");
  check.range("no_op_windows", at.no_op_windows, 0, at.window - at.update, "as many windows as gave no update");
  const std::int64_t dropped = at.window - at.update - at.no_op_windows;
  check.range("skipped_windows", at.skipped_windows, dropped, dropped,
              std::to_string(at.window) + " windows less " + std::to_string(at.update) + " updates and " +
                  std::to_string(at.no_op_windows) + " windows of weight 0");
  const std::int64_t epoch = at.window / plan.windows_per_epoch();
  check.range("epoch", at.epoch, epoch, epoch,
              "window " + std::to_string(at.window) + " with " + std::to_string(plan.windows_per_epoch()) +
                  " windows an epoch");
  check.range("skipped_samples", at.skipped_samples, 0, INT64_MAX, "");
  const std::int64_t samples = samples_in(plan, at.window);
  check.range("samples_seen", at.samples_seen, samples - std::min(samples, at.skipped_samples), samples,
              "what " + std::to_string(at.window) + " windows hold, less skipped samples");
  check.range("best_update", at.best_update, 0, at.update, "no later than the saved update");
  check.range("evals_without_improvement", at.evals_without_improvement, 0, at.window, "at most one a window");
  if (const auto& scale = saved.loss_scale) {
    check.range("loss_scale_applied", scale->applied_in_a_row, 0, at.update, "no more than applied updates");
    check.range("loss_scale_skipped", scale->skipped, 0, at.skipped_windows, "no more than skipped windows");
    check.range("loss_scale_at_floor", scale->skipped_at_floor, 0, scale->skipped,
                "no more than windows skipped by the scale");
  }
  check.range("last_eval_update", saved.last_eval_update, -1, at.update, "no later than the saved update");
}

}  // namespace holdfast::engine
