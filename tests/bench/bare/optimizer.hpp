// The optimizers of the loops written by hand.
#pragma once

#include <torch/torch.h>

#include <vector>

#include "settings.hpp"

namespace bare {

/// at::_fused_adamw_, decaying matrices only; the quickest loop that can be written on this LibTorch.
struct FusedAdamw {
  struct Group {
    double decay;
    std::vector<torch::Tensor> weights, averages, squares, steps;
  };
  FusedAdamw(const std::vector<torch::Tensor>& parameters, const Settings& settings)
      : lr(settings.real("lr")), groups{{settings.real("weight_decay"), {}, {}, {}, {}}, {0, {}, {}, {}, {}}} {
    for (const auto& p : parameters) {
      Group& group = groups[p.dim() < 2 ? 1 : 0];
      group.weights.push_back(p);
      group.averages.push_back(torch::zeros_like(p));
      group.squares.push_back(torch::zeros_like(p));
      group.steps.push_back(torch::zeros({}));
    }
  }
  void step() {
    const torch::NoGradGuard guard;
    for (auto& group : groups) {
      std::vector<torch::Tensor> gradients;
      for (auto& weight : group.weights) gradients.push_back(weight.grad());
      for (auto& count : group.steps) count.add_(1);
      at::_fused_adamw_(group.weights, gradients, group.averages, group.squares, {}, group.steps, lr, 0.9, 0.999,
                        group.decay, 1e-8, false, false);
      for (auto& weight : group.weights) weight.mutable_grad().reset();
    }
  }
  double lr;
  std::vector<Group> groups;
};

/// The optimizer as most would write it.
template <class Optimizer>
struct Module {
  Module(const std::vector<torch::Tensor>& parameters, const Settings& settings)
      : optimizer(parameters, options(settings)) {}
  static auto options(const Settings& settings) {
    if constexpr (std::is_same_v<Optimizer, torch::optim::SGD>)
      return torch::optim::SGDOptions(settings.real("lr")).momentum(settings.real("momentum"));
    else
      return torch::optim::AdamWOptions(settings.real("lr")).weight_decay(settings.real("weight_decay"));
  }
  void step() {
    optimizer.step();
    optimizer.zero_grad();
  }
  Optimizer optimizer;
};

}  // namespace bare
