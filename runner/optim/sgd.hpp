// SGD with momentum on LibTorch's fused kernel.
#pragma once

#include "optim/optimizer.hpp"

namespace holdfast::optim {

struct SgdSettings {
  double weight_decay = 0, momentum = 0;
  bool nesterov = false;
  bool decay_vectors = false;
};

/// As torch::optim::SGD computes it: weight decay is added to the gradient (L2), v = momentum * v + g, p -= lr * v;
/// Nesterov: p -= lr * (g + momentum * v). No dampening.
class Sgd : public Optimizer {
 public:
  Sgd(const NamedTensors& parameters, const SgdSettings& settings);

 private:
  void apply(Group& group, double learning_rate) override;
  SgdSettings settings_;
};

}  // namespace holdfast::optim
