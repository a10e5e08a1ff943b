// What the training loop needs of a recipe, resolved: no intervals relative to unknown lengths, no strings. Torch-free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/options.hpp"

namespace holdfast::plan {

struct OptimizerSettings {
  enum class Name { kAdamw, kSgd };
  Name name = Name::kAdamw;
  double lr = 1e-3;
  double weight_decay = 0.01;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double momentum = 0;
  bool nesterov = false;
  bool decay_vectors = false;  ///< no_decay = "1d" (the default) exempts tensors with fewer than two dimensions
};

struct ScheduleSettings {
  enum class Name { kConstant, kLinear, kCosine };
  Name name = Name::kConstant;
  std::int64_t warmup_updates = 0;
  double min_lr = 0;
};

struct EarlyStop {
  std::string metric;  ///< "loss", "accuracy"
  bool maximise = false;
  std::int64_t patience = 0;  ///< evaluations without improvement
};

struct BestMetric {
  std::string metric = "loss";
  bool maximise = false;
};

struct TrainSettings {
  std::string run_name;
  std::uint64_t seed = 0;
  std::int64_t batch_size = 1;                  ///< samples an update
  std::optional<std::int64_t> epochs, updates;  ///< exactly one is set
  Interval eval_every{Interval::Unit::kEpochs, 1, {}};
  std::int64_t eval_batch_size = 1;
  std::optional<double> clip_grad_norm;
  std::optional<EarlyStop> early_stop;
  BestMetric best;
  bool shuffle_train = true, shuffle_eval = false;
  bool drop_last_train = false, drop_last_eval = false;
  int loader_threads = 1;
  int prefetch_batches = 4;
  OptimizerSettings optimizer;
  ScheduleSettings schedule;
};

/// Learning rate of the `update`-th applied update (1-based) of `total`: a pure function, so a resume needs no state.
/// Warm-up rises linearly: update k of w gets lr * k / w. After it, with p = (update - warmup) / (total - warmup):
/// constant: lr; linear: lr + (min_lr - lr) * p; cosine: min_lr + (lr - min_lr) * (1 + cos(pi p)) / 2.
double learning_rate(const OptimizerSettings&, const ScheduleSettings&, std::int64_t update, std::int64_t total);

}  // namespace holdfast::plan
