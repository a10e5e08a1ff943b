// Making a Trainer: everything that can be refused is refused here, before the first window.
#include "engine/trainer.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "engine/agreement.hpp"
#include "engine/composition.hpp"
#include "engine/measurement.hpp"
#include "engine/placement.hpp"
#include "engine/precision.hpp"
#include "engine/trainer_impl.hpp"
#include "optim/adamw.hpp"
#include "optim/sgd.hpp"

namespace holdfast::engine {
namespace {

std::unique_ptr<optim::Optimizer> make_optimizer(const plan::OptimizerSettings& s, const NamedTensors& parameters) {
  if (s.name == plan::OptimizerSettings::Name::kSgd)
    return std::make_unique<optim::Sgd>(parameters,
                                        optim::SgdSettings{s.weight_decay, s.momentum, s.nesterov, s.decay_vectors});
  return std::make_unique<optim::Adamw>(parameters,
                                        optim::AdamwSettings{s.weight_decay, s.beta1, s.beta2, s.eps, s.decay_vectors});
}

/// Parameters, then buffers; a name twice is a bug of the model.
NamedTensors model_tensors(Model& model) {
  NamedTensors tensors = model.parameters();
  for (auto& buffer : model.buffers()) tensors.push_back(std::move(buffer));
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : tensors)
    if (!names.insert(name).second)
      throw Error(ExitCode::kBug, "model.tensor_name", "model", "two tensors are named '" + name + "'");
  return tensors;
}

/// A tensor shared by two names is trained once.
NamedTensors trained_parameters(Model& model) {
  NamedTensors trained;
  std::set<const void*> seen;
  for (auto& entry : model.parameters())
    if (entry.tensor.requires_grad() && seen.insert(entry.tensor.unsafeGetTensorImpl()).second)
      trained.push_back(std::move(entry));
  if (trained.empty())
    throw Error(ExitCode::kBug, "model.parameters", "model", "the model has no parameter that requires a gradient");
  return trained;
}

LoaderSettings train_loader(const plan::TrainSettings& s) {
  return {"dataset.train", s.batch_size,     s.shuffle_train,   s.drop_last_train,
          s.seed,          s.loader_threads, s.prefetch_batches};
}

}  // namespace

Trainer::Impl::Impl(TrainerParts trainer_parts)
    : parts(std::move(trainer_parts)),
      observer(parts.observer ? *parts.observer : silent),
      model(*parts.model),
      composed(compose(parts.strategies, parts.settings.batch_size)),
      plan(composed),
      loss_scale(plan),
      tensors(model_tensors(model)),
      parameters(trained_parameters(model)),
      optimizer(make_optimizer(parts.settings.optimizer, parameters)),
      ladder(parts.on_oom),
      eval_ladder(parts.on_oom, Ladder::For::kEvaluation),
      hooks(parts.hooks),
      loader(*parts.train, train_loader(parts.settings)),
      step(parts, plan, loss_scale, parameters, *optimizer) {
  weights_ = model.parameters().size();
  require_precision();
  place_moments(*optimizer, plan.optimizer_placement.value, parameters.front().tensor.device());
  require_segments(plan, model.traits());
  const auto& settings = parts.settings;
  if (parts.eval) require_agreement(parts.train->facts(), parts.eval->facts());
  total_updates = settings.updates ? *settings.updates : *settings.epochs * loader.plan().windows_per_epoch();
  if (settings.schedule.warmup_updates > total_updates)
    throw Error(ExitCode::kBadRecipe, "schedule.warmup", "schedule.warmup_updates",
                "a warm-up of " + std::to_string(settings.schedule.warmup_updates) +
                    " updates is longer than the run of " + std::to_string(total_updates));
  if (settings.eval_every.unit != Interval::Unit::kTime && settings.eval_every.count < 1)
    throw Error(ExitCode::kBadRecipe, "eval.interval", "train.eval_every",
                "got " + std::to_string(settings.eval_every.count) + "; it is at least 1 update or 1 epoch");
  if (settings.early_stop && !parts.eval)
    throw Error(ExitCode::kBadRecipe, "early_stop.no_eval", "train.early_stop",
                "there is no [dataset.eval] to judge by", "add an eval data set or remove train.early_stop");
}

void Trainer::Impl::require_precision() {
  const device::MachineArithmetic machine(parameters.front().tensor.device());
  const device::Arithmetic& arithmetic = parts.arithmetic ? *parts.arithmetic : machine;
  require_arithmetic(plan, arithmetic);
  if (const std::string slow = slow_arithmetic(plan, arithmetic); !slow.empty()) observer.warn(slow);
}

Trainer::Trainer(TrainerParts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}
Trainer::~Trainer() = default;
std::string Trainer::identity() const { return impl_->identity(); }
void Trainer::check(const base::StateView& saved, const std::string& where) { (void)impl_->checked(saved, where); }
void Trainer::restore(const base::StateView& saved, bool saved_here, const std::string& where) {
  impl_->restore(saved, saved_here, where);
}
Outcome Trainer::run() { return impl_->run(); }
std::vector<std::pair<std::string, double>> Trainer::evaluate() { return *impl_->evaluate(nullptr); }
Measurement Trainer::measure(const MeasurementSettings& settings) { return impl_->measure(settings); }
base::StateView Trainer::state() { return impl_->state(); }
const StepPlan& Trainer::step_plan() const { return impl_->plan; }

}  // namespace holdfast::engine
