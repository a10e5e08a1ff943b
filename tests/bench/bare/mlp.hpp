// The mlp by hand: linear layers with ReLU between.
#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

namespace bare {

struct Mlp : torch::nn::Module {
  Mlp(std::int64_t features, const std::vector<std::int64_t>& hidden) {
    for (const auto width : hidden) add(features, width), features = width;
    add(features, 10);
  }
  void add(std::int64_t in, std::int64_t out) {
    layers.push_back(register_module(std::to_string(2 * layers.size()), torch::nn::Linear(in, out)));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (std::size_t i = 0; i + 1 < layers.size(); ++i) x = torch::relu(layers[i]->forward(x));
    return layers.back()->forward(x);
  }
  std::vector<torch::nn::Linear> layers;
};

}  // namespace bare
