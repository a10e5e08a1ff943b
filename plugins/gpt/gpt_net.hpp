// The network of gpt: the decoder-only transformer of A. Radford et al., "Language Models are Unsupervised Multitask
// Learners" (GPT-2, 2019). Knows nothing of data sets, losses or training.
#pragma once

#include <torch/nn.h>

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/model.hpp"

namespace holdfast::plugins {

struct GptShape {
  std::int64_t vocabulary = 0, context = 0;
  std::int64_t depth = 0, width = 0, heads = 0;
  double dropout = 0;  ///< of embeddings, attention weights and both residual branches
  bool tied = true;    ///< the output layer is the token embedding
};

/// Causal self-attention: queries, keys and values in one projection, heads side by side in each.
class GptAttention : public torch::nn::Module {
 public:
  explicit GptAttention(const GptShape& shape);
  at::Tensor forward(const at::Tensor& x);  ///< [N, T, width] to the same

 private:
  std::int64_t heads_;
  double dropout_;
  torch::nn::Linear qkv_, proj_;
};

/// width → 4 width → width, with GELU in its tanh form, as GPT-2 has it.
class GptMlp : public torch::nn::Module {
 public:
  explicit GptMlp(const GptShape& shape);
  at::Tensor forward(const at::Tensor& x);

 private:
  torch::nn::Linear fc1_, fc2_;
};

/// x += attention(norm1(x)); x += mlp(norm2(x)).
class GptBlock : public torch::nn::Module {
 public:
  explicit GptBlock(const GptShape& shape);
  at::Tensor forward(const at::Tensor& x);

 private:
  double dropout_;
  torch::nn::LayerNorm norm1_;
  std::shared_ptr<GptAttention> attention_;
  torch::nn::LayerNorm norm2_;
  std::shared_ptr<GptMlp> mlp_;
};

/// Names, in the style of plain PyTorch modules: token.weight, position.weight, block.N.{norm1, attention.qkv,
/// attention.proj, norm2, mlp.fc1, mlp.fc2}.{weight, bias}, norm.{weight, bias}, and head.weight unless tied.
/// Weights are normal(0, 0.02), those of attention.proj and mlp.fc2 divided by sqrt(2 depth), since each of the 2 depth
/// residual branches adds its variance; biases 0; norms 1 and 0.
class GptNet : public torch::nn::Module {
 public:
  explicit GptNet(GptShape shape);
  /// tokens int64 [N, T], T ≤ context; logits [N, T, vocabulary]. Each block is a segment: "block.0", ...
  at::Tensor forward(const at::Tensor& tokens, Segments& segments);
  [[nodiscard]] const GptShape& shape() const { return shape_; }

 private:
  void initialise();

  GptShape shape_;
  torch::nn::Embedding token_, position_;
  std::vector<std::shared_ptr<GptBlock>> blocks_;
  std::vector<std::string> segment_names_;
  torch::nn::LayerNorm norm_;
  torch::nn::Linear head_{nullptr};
};

}  // namespace holdfast::plugins
