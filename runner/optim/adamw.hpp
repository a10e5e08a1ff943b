// AdamW on LibTorch's fused kernel.
#pragma once

#include "optim/optimizer.hpp"

namespace holdfast::optim {

struct AdamwSettings {
  double weight_decay = 0.01, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  bool decay_vectors = false;
};

/// Loshchilov, Hutter: Decoupled Weight Decay Regularization (2019), algorithm 2, as torch::optim::AdamW computes it:
/// p -= lr * weight_decay * p, then the bias-corrected Adam step.
class Adamw : public Optimizer {
 public:
  Adamw(const NamedTensors& parameters, const AdamwSettings& settings);

 private:
  void apply(Group& group, double learning_rate) override;
  AdamwSettings settings_;
};

}  // namespace holdfast::optim
