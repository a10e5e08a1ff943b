// Layers and initial values of the transformer.
#include "gpt_net.hpp"

#include <cmath>
#include <utility>

namespace holdfast::plugins {
namespace {

namespace nn = torch::nn;

constexpr std::int64_t kMlpRatio = 4;
constexpr double kInitialDeviation = 0.02;

nn::LayerNorm norm_of(std::int64_t width) { return nn::LayerNorm(nn::LayerNormOptions({width})); }

at::Tensor dropped(const at::Tensor& x, double share, bool training) {
  return training && share > 0 ? at::dropout(x, share, true) : x;
}

void set_normal(at::Tensor weight, double deviation) {
  const torch::NoGradGuard no_grad;
  weight.normal_(0, deviation);
}

void set_zero(at::Tensor bias) {
  const torch::NoGradGuard no_grad;
  bias.zero_();
}

}  // namespace

GptAttention::GptAttention(const GptShape& shape)
    : heads_(shape.heads),
      dropout_(shape.dropout),
      qkv_(register_module("qkv", nn::Linear(shape.width, 3 * shape.width))),
      proj_(register_module("proj", nn::Linear(shape.width, shape.width))) {}

at::Tensor GptAttention::forward(const at::Tensor& x) {
  const std::int64_t samples = x.size(0), length = x.size(1), width = x.size(2);
  const auto parts =
      qkv_->forward(x).view({samples, length, 3, heads_, width / heads_}).permute({2, 0, 3, 1, 4}).unbind(0);
  const double share = is_training() ? dropout_ : 0;
  const at::Tensor mixed =
      at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, share, /*is_causal=*/true);
  return proj_->forward(mixed.transpose(1, 2).reshape({samples, length, width}));
}

GptMlp::GptMlp(const GptShape& shape)
    : fc1_(register_module("fc1", nn::Linear(shape.width, kMlpRatio * shape.width))),
      fc2_(register_module("fc2", nn::Linear(kMlpRatio * shape.width, shape.width))) {}

at::Tensor GptMlp::forward(const at::Tensor& x) { return fc2_->forward(at::gelu(fc1_->forward(x), "tanh")); }

GptBlock::GptBlock(const GptShape& shape)
    : dropout_(shape.dropout),
      norm1_(register_module("norm1", norm_of(shape.width))),
      attention_(register_module("attention", std::make_shared<GptAttention>(shape))),
      norm2_(register_module("norm2", norm_of(shape.width))),
      mlp_(register_module("mlp", std::make_shared<GptMlp>(shape))) {}

at::Tensor GptBlock::forward(const at::Tensor& x) {
  const at::Tensor h = x + dropped(attention_->forward(norm1_->forward(x)), dropout_, is_training());
  return h + dropped(mlp_->forward(norm2_->forward(h)), dropout_, is_training());
}

GptNet::GptNet(GptShape shape)
    : shape_(std::move(shape)),
      token_(register_module("token", nn::Embedding(shape_.vocabulary, shape_.width))),
      position_(register_module("position", nn::Embedding(shape_.context, shape_.width))),
      norm_(nullptr) {
  const auto blocks = std::make_shared<nn::Module>();
  register_module("block", blocks);
  for (std::int64_t i = 0; i < shape_.depth; ++i) {
    blocks_.push_back(blocks->register_module(std::to_string(i), std::make_shared<GptBlock>(shape_)));
    segment_names_.push_back("block." + std::to_string(i));
  }
  norm_ = register_module("norm", norm_of(shape_.width));
  if (!shape_.tied)
    head_ = register_module("head", nn::Linear(nn::LinearOptions(shape_.width, shape_.vocabulary).bias(false)));
  initialise();
}

void GptNet::initialise() {
  const double residual = kInitialDeviation / std::sqrt(2 * static_cast<double>(shape_.depth));
  for (const auto& entry : named_modules("", /*include_self=*/false)) {
    if (const auto* embedding = entry.value()->as<nn::EmbeddingImpl>())
      set_normal(embedding->weight, kInitialDeviation);
    const auto* linear = entry.value()->as<nn::LinearImpl>();
    if (!linear) continue;
    const bool closes_branch = entry.key().ends_with(".proj") || entry.key().ends_with(".fc2");
    set_normal(linear->weight, closes_branch ? residual : kInitialDeviation);
    if (linear->bias.defined()) set_zero(linear->bias);
  }
}

at::Tensor GptNet::forward(const at::Tensor& tokens, Segments& segments) {
  const at::Tensor places = position_->weight.narrow(0, 0, tokens.size(1));
  at::Tensor x = dropped(token_->forward(tokens) + places, shape_.dropout, is_training());
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    x = segments.run(segment_names_[i], [this, i](const at::Tensor& in) { return blocks_[i]->forward(in); }, x);
  return at::linear(norm_->forward(x), shape_.tied ? token_->weight : head_->weight);
}

}  // namespace holdfast::plugins
