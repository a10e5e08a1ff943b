// Going back to an older checkpoint: its state, without the windows that led astray. Hooks ask for it.
#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "base/finite.hpp"
#include "engine/tensor_bytes.hpp"
#include "engine/trainer_impl.hpp"

namespace holdfast::engine {

std::string Trainer::Impl::objection(const StepResult& result, bool finite) {
  const std::int64_t update = progress.update + 1;
  const UpdateProposal proposal{update,      present_window_,
                                result.loss, result.grad_norm,
                                finite,      loss_scale.scales(update) ? loss_scale.at(update) : 0};
  hooks.before_update(proposal, asked_early_);
  return asked_early_.skip_reason.value_or("");
}

bool Trainer::Impl::is_left_out(std::int64_t window) const {
  return std::ranges::any_of(progress.left_out, [window](const LeftOut& left) {
    return window >= left.first && window - left.first < left.count;
  });
}

bool Trainer::Impl::weights_finite() {
  std::vector<at::Tensor> kept;
  const auto views = views_of(model.parameters(), kept, Copies::kWhenRead);
  return std::ranges::all_of(views, [](const auto& view) { return !base::first_not_finite(view.dtype, view.read()); });
}

// What is replayed has the bits that it had, so the result does not depend on which checkpoint was there to go back to.
std::optional<Outcome> Trainer::Impl::roll_back(const Requests& asked) {
  const std::int64_t windows = std::clamp<std::int64_t>(asked.rollback_windows, 1, progress.window);
  RollbackReport report{progress.update,       0, progress.window - windows, windows, asked.rollback_kind,
                        *asked.rollback_reason};
  take_settled(true, true);
  const auto note = [this](const std::string& sentence) { observer.note("rollback: " + sentence); };
  auto found = parts.saver ? parts.saver->newest(report.first_window, note) : std::nullopt;
  if (!found)
    throw Error(ExitCode::kDiverged, "run.rollback", "update " + std::to_string(progress.update),
                "a rollback was asked for (" + report.reason + "), but no checkpoint from before window " +
                    std::to_string(report.first_window + 1) + " is there to go back to",
                "save more often ([hook.periodic_checkpoint]) or keep more (checkpoint.keep), or lower optimizer.lr");
  auto left_out = std::exchange(progress.left_out, {});
  left_out.push_back({report.first_window, windows});
  loader.stop();
  restore(found->state, false, found->where);
  found.reset();
  progress.left_out = std::move(left_out);
  report.to_update = progress.update;
  // Nothing of the future that is given up may be written later, and its checkpoints must not be the newest.
  saving_.failed.reset();
  saving_.again.reset();
  saving_.safe = {};
  fruitless_windows_ = 0;
  hooks.rolled_back(report);
  observer.rolled_back(report, progress);
  save({"rollback", "", progress.update > 0 && progress.best_update == progress.update, 0, 0, 0}, false);
  if (evaluation_pending_) {
    Requests none;
    if (auto ended = conclude(none, finished())) return ended;
  }
  start_loader();
  return std::nullopt;
}

}  // namespace holdfast::engine
