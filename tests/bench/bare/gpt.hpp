// The gpt by hand, with the same operators as the plugin: a pre-norm decoder whose output layer is its own.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

namespace bare {

struct GptBlock : torch::nn::Module {
  GptBlock(std::int64_t width, std::int64_t head_count)
      : heads(head_count),
        norm1(register_module("norm1", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        qkv(register_module("qkv", torch::nn::Linear(width, 3 * width))),
        proj(register_module("proj", torch::nn::Linear(width, width))),
        norm2(register_module("norm2", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})))),
        fc1(register_module("fc1", torch::nn::Linear(width, 4 * width))),
        fc2(register_module("fc2", torch::nn::Linear(4 * width, width))) {}

  torch::Tensor attend(const torch::Tensor& x) {
    const auto n = x.size(0), t = x.size(1), d = x.size(2);
    const auto parts = qkv->forward(x).view({n, t, 3, heads, d / heads}).permute({2, 0, 3, 1, 4}).unbind(0);
    const auto mixed = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, true);
    return proj->forward(mixed.transpose(1, 2).reshape({n, t, d}));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = x + attend(norm1->forward(x));
    return x + fc2->forward(torch::gelu(fc1->forward(norm2->forward(x)), "tanh"));
  }

  std::int64_t heads;
  torch::nn::LayerNorm norm1;
  torch::nn::Linear qkv, proj;
  torch::nn::LayerNorm norm2;
  torch::nn::Linear fc1, fc2;
};

struct Gpt : torch::nn::Module {
  Gpt(std::int64_t depth, std::int64_t width, std::int64_t heads, std::int64_t context)
      : token(register_module("token", torch::nn::Embedding(256, width))),
        position(register_module("position", torch::nn::Embedding(context, width))) {
    for (std::int64_t i = 0; i < depth; ++i)
      blocks.push_back(register_module("block" + std::to_string(i), std::make_shared<GptBlock>(width, heads)));
    norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
    head = register_module("head", torch::nn::Linear(torch::nn::LinearOptions(width, 256).bias(false)));
  }
  torch::Tensor forward(const torch::Tensor& tokens) {
    torch::Tensor x = token->forward(tokens) + position->weight.narrow(0, 0, tokens.size(1));
    for (auto& block : blocks) x = block->forward(x);
    return head->forward(norm->forward(x)).flatten(0, 1);
  }

  torch::nn::Embedding token, position;
  std::vector<std::shared_ptr<GptBlock>> blocks;
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear head{nullptr};
};

}  // namespace bare
