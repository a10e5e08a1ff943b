// One line a key, in the order of the recipe's tables. Every value was checked by spec.
#include "app/worker/settings.hpp"

#include "spec/units.hpp"

namespace holdfast::app {
namespace {

plan::OptimizerSettings optimizer_settings(const Options& from) {
  using Name = plan::OptimizerSettings::Name;
  plan::OptimizerSettings to;
  to.name = from.string("name") == "sgd" ? Name::kSgd : Name::kAdamw;
  to.lr = from.number("lr");
  to.weight_decay = from.number("weight_decay");
  to.beta1 = from.numbers("betas").at(0);
  to.beta2 = from.numbers("betas").at(1);
  to.eps = from.number("eps");
  to.momentum = from.number("momentum");
  to.nesterov = from.boolean("nesterov");
  to.decay_vectors = from.string("no_decay") == "none";
  return to;
}

plan::ScheduleSettings schedule_settings(const Options& from) {
  using Name = plan::ScheduleSettings::Name;
  plan::ScheduleSettings to;
  const std::string& name = from.string("name");
  to.name = name == "linear" ? Name::kLinear : name == "cosine" ? Name::kCosine : Name::kConstant;
  to.warmup_updates = from.integer("warmup_updates");
  to.min_lr = from.number("min_lr");
  return to;
}

plan::BestMetric best_metric(const Options& checkpoint) {
  const auto goal = spec::parse_metric_goal(checkpoint.string("best"));
  plan::BestMetric best;
  if (goal.value) {
    best.metric = goal.value->metric;
    best.maximise = goal.value->maximise;
  }
  return best;
}

}  // namespace

plan::TrainSettings train_settings(const spec::Recipe& recipe) {
  const Options& train = recipe.train;
  plan::TrainSettings to;
  to.run_name = recipe.run.string("name");
  to.seed = static_cast<std::uint64_t>(recipe.run.integer("seed"));
  to.batch_size = train.integer("batch_size");
  if (train.has("epochs")) to.epochs = train.integer("epochs");
  if (train.has("updates")) to.updates = train.integer("updates");
  to.eval_every = train.interval("eval_every");
  to.eval_batch_size = train.integer("eval_batch_size");
  if (train.has("clip_grad_norm")) to.clip_grad_norm = train.number("clip_grad_norm");
  if (train.has("early_stop")) {
    const Options& stop = train.table("early_stop");
    to.early_stop = plan::EarlyStop{stop.string("metric"), stop.string("mode") == "max", stop.integer("patience")};
  }
  to.best = best_metric(recipe.checkpoint);
  to.shuffle_train = recipe.dataset_train.boolean("shuffle");
  to.drop_last_train = recipe.dataset_train.boolean("drop_last");
  if (recipe.eval_data) {
    to.shuffle_eval = recipe.dataset_eval.boolean("shuffle");
    to.drop_last_eval = recipe.dataset_eval.boolean("drop_last");
  }
  to.loader_threads = static_cast<int>(recipe.loader.integer("threads"));
  to.prefetch_batches = static_cast<int>(recipe.loader.integer("prefetch"));
  to.optimizer = optimizer_settings(recipe.optimizer);
  to.schedule = schedule_settings(recipe.schedule);
  return to;
}

checkpoint::Retention retention(const spec::Recipe& recipe) {
  checkpoint::Retention rule;
  rule.keep = static_cast<int>(recipe.checkpoint.integer("keep"));
  if (recipe.checkpoint.has("keep_every")) rule.keep_every = recipe.checkpoint.interval("keep_every").count;
  return rule;
}

}  // namespace holdfast::app
