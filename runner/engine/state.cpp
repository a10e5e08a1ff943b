// The whole state of a run at a window edge, out and in.
#include <torch/torch.h>

#include <algorithm>

#include "engine/identity.hpp"
#include "engine/progress_check.hpp"
#include "engine/progress_json.hpp"
#include "engine/tensor_bytes.hpp"
#include "engine/trainer_impl.hpp"

namespace holdfast::engine {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

const std::string* find(const Texts& texts, const std::string& key) {
  const auto found = std::ranges::find(texts, key, &Texts::value_type::first);
  return found == texts.end() ? nullptr : &found->second;
}

[[noreturn]] void refuse(const std::vector<std::string>& differences) {
  std::string text;
  for (const auto& difference : differences) text += (text.empty() ? "" : "; ") + difference;
  throw Error(ExitCode::kBadRecipe, "resume.identity", "checkpoint",
              "the saved run is another one than the recipe describes: " + text,
              "put these back, or start a new run (--new)");
}

}  // namespace

const std::string& Trainer::Impl::identity() {
  if (identity_.empty()) identity_ = identity_json(parts, tensors);
  return identity_;
}

base::StateView Trainer::Impl::state() {
  kept_.clear();
  base::StateView view;
  view.model = views_of(tensors, kept_);
  view.optimizer = views_of(optimizer->state(), kept_);
  SavedProgress saved{progress, last_eval_update, last_eval, evaluation_pending_, {}, {}, {}};
  if (parts.eval && eval_data_.empty()) eval_data_ = parts.eval->fingerprint();
  saved.eval_data = eval_data_;
  saved.hooks = evaluation_pending_ ? hooks_before_evaluation_ : hook_states();
  for (const auto& [table, strategy] : parts.strategies) saved.strategies.emplace_back(table, strategy->state());
  view.progress_json = to_json(saved);
  view.identity_json = identity();
  view.extra_json = to_json(SavedExtra{progress.oom_retries, choices()});
  return view;
}

Texts Trainer::Impl::hook_states() const {
  Texts states;
  for (const auto& [table, hook] : parts.hooks) states.emplace_back(table, hook->state());
  return states;
}

SavedProgress Trainer::Impl::checked(const base::StateView& saved, const std::string& where) {
  if (const auto differences = identity_differences(saved.identity_json, identity()); !differences.empty())
    refuse(differences);
  SavedProgress read = progress_from_json(saved.progress_json, where);
  check_progress(read, loader.plan(), where);
  check_model(tensors_of(saved.model), where);
  return read;
}

void Trainer::Impl::restore(const base::StateView& saved, bool saved_here, const std::string& where) {
  SavedProgress read = checked(saved, where);
  const NamedTensors model_saved = tensors_of(saved.model);
  optimizer->restore(tensors_of(saved.optimizer));
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors) tensor.detach().copy_(model_saved.get(name));

  const SavedExtra extra = extra_from_json(saved.extra_json);
  progress = read.progress;
  progress.oom_retries = extra.oom_retries;
  last_eval = std::move(read.last_eval);
  last_eval_update = read.last_eval_update;
  evaluation_pending_ = read.evaluation_pending && parts.eval;
  if (saved_here) {
    saved_update_ = progress.update;
    saved_window_ = progress.window;
    saved_pending_ = evaluation_pending_;
  }
  hooks_before_evaluation_ = read.hooks;
  restore_components(read.hooks, read.strategies);
  forget_other_metric(read.eval_data);
  forget_other_goal(extra.choices);
  tell_changes(extra.choices);
}

void Trainer::Impl::check_model(const NamedTensors& saved, const std::string& where) const {
  const auto damaged = [&where](const std::string& what) {
    throw Error(ExitCode::kMissingInput, "checkpoint.model", where, what, "use an older checkpoint");
  };
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor* found = saved.find(name);
    if (!found) damaged("the saved model lacks the tensor '" + name + "'");
    if (found->sizes() != tensor.sizes() || found->scalar_type() != tensor.scalar_type())
      damaged("the saved tensor '" + name + "' has another shape or dtype than its identity says");
  }
}

void Trainer::Impl::restore_components(const Texts& hook_states, const Texts& strategy_states) {
  for (const auto& [table, hook] : parts.hooks)
    if (const std::string* text = find(hook_states, table)) hook->restore(*text);
  for (const auto& [table, strategy] : parts.strategies)
    if (const std::string* text = find(strategy_states, table)) strategy->restore(*text);
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
void Trainer::Impl::forget_other_goal(const Texts& saved_choices) {
  const Texts now = choices();
  const auto changed = [&](const char* key) {
    const std::string* before = find(saved_choices, key);
    return before && *before != *find(now, key);
  };
  if (changed(kBestGoal)) {
    progress.best_metric.reset();
    progress.best_update = 0;
    observer.note("resume: the best checkpoint is chosen by another metric now; the best value begins anew");
  }
  if (changed(kEarlyStopGoal)) {
    progress.early_best.reset();
    progress.evals_without_improvement = 0;
  }
}

namespace {

constexpr const char* kThreads = "run.threads";
constexpr const char* kMicroBatch = "micro-batch";

}  // namespace

Texts Trainer::Impl::choices() const {
  Texts all = choices_of(parts);
  const auto micro_batch = plan.micro_batch_size.value;
  all.emplace_back(kThreads, std::to_string(at::get_num_threads()));
  all.emplace_back(kMicroBatch, std::to_string(micro_batch ? micro_batch : parts.settings.batch_size));
  return all;
}

void Trainer::Impl::tell_changes(const Texts& saved_choices) {
  bool bits = false;
  for (const auto& [key, value] : choices())
    if (const std::string* before = find(saved_choices, key); before && *before != value) {
      observer.note("resume: " + key + " was " + *before + " and is now " + value);
      bits |= key == kThreads || key == kMicroBatch;
    }
  if (bits) observer.note("resume: the bits may differ from those of a run that was not interrupted");
}

}  // namespace holdfast::engine
