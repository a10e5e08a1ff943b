// The network: blocks of convolution, norm, activation and pool, then linear layers. Knows no recipe and no data set.
#pragma once

#include <torch/nn.h>

#include <string>
#include <vector>

#include "convnet_shape.hpp"
#include "holdfast/model.hpp"

namespace holdfast::plugins {

/// Convolution ("conv"), norm ("norm", unless none), activation and pool over 2×2 pixels.
class ConvnetBlock : public torch::nn::Module {
 public:
  ConvnetBlock(const ConvnetShape& shape, std::int64_t in, std::int64_t out);
  at::Tensor forward(const at::Tensor& input);

 private:
  [[nodiscard]] at::Tensor normalised(const at::Tensor& x);
  void check_values(const at::Tensor& x) const;

  ConvnetActivation activation_;
  ConvnetPool pool_;
  torch::nn::Conv2d conv_{nullptr};
  torch::nn::BatchNorm2d batch_norm_{nullptr};
  torch::nn::GroupNorm group_norm_{nullptr};
};

/// Parameters are named "block.N.conv.weight", "block.N.norm.weight", "head.N.weight" and start as those of nn.Conv2d,
/// nn.BatchNorm2d, nn.GroupNorm and nn.Linear. A block is a segment of the same name. Dropout has no module of its own.
class ConvnetNet : public torch::nn::Module {
 public:
  explicit ConvnetNet(const ConvnetShape& shape);
  /// `input` is [N, H, W] or [N, C, H, W]; logits [N, classes].
  at::Tensor forward(const at::Tensor& input, Segments& segments);

 private:
  [[nodiscard]] at::Tensor classify(at::Tensor x);

  ConvnetShape shape_;
  std::vector<std::shared_ptr<ConvnetBlock>> blocks_;
  std::vector<std::string> segment_names_;
  std::vector<torch::nn::Linear> head_;
};

}  // namespace holdfast::plugins
