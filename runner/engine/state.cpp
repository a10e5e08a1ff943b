// The whole state of a run at a window edge, out and in. What may come in is judged in state_check.cpp.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <iterator>

#include "engine/identity.hpp"
#include "engine/progress_json.hpp"
#include "engine/tensor_bytes.hpp"
#include "engine/trainer_impl.hpp"

namespace holdfast::engine {

const std::string& Trainer::Impl::identity() {
  if (identity_.empty()) identity_ = identity_json(parts, tensors);
  return identity_;
}

base::StateView Trainer::Impl::state(Copies copies) {
  kept_.clear();
  NamedTensors all = tensors;
  for (auto& moment : moments()) all.push_back(std::move(moment));
  auto views = views_of(all, kept_, copies);
  const auto middle = views.begin() + static_cast<std::ptrdiff_t>(tensors.size());
  return described({std::move_iterator(views.begin()), std::move_iterator(middle)},
                   {std::move_iterator(middle), std::move_iterator(views.end())});
}

base::StateView Trainer::Impl::described(std::vector<base::TensorView> model_state,
                                         std::vector<base::TensorView> optimizer_state) {
  base::StateView view;
  view.model = std::move(model_state);
  view.weights = weights_;
  view.optimizer = std::move(optimizer_state);
  SavedProgress saved{progress, last_eval_update, last_eval, evaluation_pending_, {}, {}, {}};
  if (parts.eval && eval_data_.empty()) eval_data_ = parts.eval->fingerprint();
  saved.eval_data = eval_data_;
  saved.loss_scale = loss_scale.state();
  saved.hooks = evaluation_pending_ ? hooks_before_evaluation_ : hook_states();
  for (const auto& [table, strategy] : parts.strategies)  // one without state leaves no trace: it may come and go
    if (std::string text = strategy->state(); text != "{}") saved.strategies.emplace_back(table, std::move(text));
  view.progress_json = to_json(saved);
  view.identity_json = identity();
  view.extra_json =
      to_json(SavedExtra{progress.oom_retries, goals_of(parts.settings), choices(), plan_edits_json(composed, plan),
                         step.known_segments(), eval_plan.micro_batch_size.value});
  return view;
}

Texts Trainer::Impl::hook_states() const {
  Texts states;
  for (const auto& [table, hook] : parts.hooks) states.emplace_back(table, hook->state());
  return states;
}

void Trainer::Impl::restore(const base::StateView& saved, bool saved_here, const std::string& where) {
  SavedProgress read = checked(saved, where);
  const SavedExtra extra = extra_from_json(saved.extra_json);
  restore_plan(extra);  // before the moments come: where they go
  const NamedTensors model_saved = tensors_of(saved.model, where);
  (void)moments();
  optimizer->restore(tensors_of(saved.optimizer, where));
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors) tensor.detach().copy_(model_saved.get(name));

  progress = read.progress;
  progress.oom_retries = extra.oom_retries;
  last_eval = std::move(read.last_eval);
  last_eval_update = read.last_eval_update;
  evaluation_pending_ = read.evaluation_pending && parts.eval;
  if (saved_here) saving_.safe = here();
  loss_scale.restore(read.loss_scale);
  hooks_before_evaluation_ = read.hooks;
  restore_components(read, extra.choices, where);
  forget_other_metric(read.eval_data);
  forget_other_goal(extra.goals);
  tell_changes(extra.choices);
}

// A best value on other data would block every later one.
void Trainer::Impl::forget_other_metric(const std::string& saved_eval_data) {
  if (parts.eval && eval_data_.empty()) eval_data_ = parts.eval->fingerprint();
  if (saved_eval_data == eval_data_) return;
  progress.best_metric.reset();
  progress.best_update = 0;
  progress.early_best.reset();
  progress.evals_without_improvement = 0;
  observer.note("resume: the eval data is not that of the saved run; best metric and early stopping begin anew");
}

// The best loss says nothing about the best accuracy. The change itself is told with the other choices.
void Trainer::Impl::forget_other_goal(const SavedGoals& saved) {
  const SavedGoals now = goals_of(parts.settings);
  if (!saved.best.empty() && saved.best != now.best) {
    progress.best_metric.reset();
    progress.best_update = 0;
    observer.note("resume: the best checkpoint is chosen by another metric now; the best value begins anew");
  }
  if (!saved.early_stop.empty() && saved.early_stop != now.early_stop) {
    progress.early_best.reset();
    progress.evals_without_improvement = 0;
  }
}

}  // namespace holdfast::engine
