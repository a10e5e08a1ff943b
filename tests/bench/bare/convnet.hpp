// The convnet by hand, with the same operators as the plugin: images with the channels last, blocks of convolution,
// BatchNorm, pool and ReLU (in this order: the same values, a quarter of the work), then linear layers.
#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

namespace bare {

struct Convnet : torch::nn::Module {
  Convnet(std::int64_t side, const std::vector<std::int64_t>& channels, const std::vector<std::int64_t>& hidden) {
    std::int64_t in = 1;
    for (const auto out : channels) {
      const std::string name = std::to_string(convolutions.size());
      const auto options = torch::nn::Conv2dOptions(in, out, 3).padding(1).bias(false);
      convolutions.push_back(register_module("conv" + name, torch::nn::Conv2d(options)));
      norms.push_back(register_module("norm" + name, torch::nn::BatchNorm2d(out)));
      in = out, side /= 2;
    }
    in *= side * side;
    for (const auto out : hidden) add(in, out), in = out;
    add(in, 10);
  }
  void add(std::int64_t in, std::int64_t out) {
    head.push_back(register_module("head" + std::to_string(head.size()), torch::nn::Linear(in, out)));
  }
  torch::Tensor forward(const torch::Tensor& images) {
    torch::Tensor x = images.unsqueeze(1);
    x = x.to(x.options(), false, false, torch::MemoryFormat::ChannelsLast);
    for (std::size_t i = 0; i < convolutions.size(); ++i)
      x = torch::relu(torch::max_pool2d(norms[i]->forward(convolutions[i]->forward(x)), 2, 2));
    x = x.flatten(1);
    for (std::size_t i = 0; i < head.size(); ++i) x = head[i]->forward(i > 0 ? torch::relu(x) : x);
    return x;
  }
  std::vector<torch::nn::Conv2d> convolutions;
  std::vector<torch::nn::BatchNorm2d> norms;
  std::vector<torch::nn::Linear> head;
};

}  // namespace bare
