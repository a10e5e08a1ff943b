// Computes a convnet. Images lie in memory with the channels last: on the CPU the same arithmetic in half the time.
#include "convnet_net.hpp"

#include <memory>

#include "holdfast/error.hpp"

namespace holdfast::plugins {
namespace {

namespace nn = torch::nn;

at::Tensor activate(const at::Tensor& x, ConvnetActivation activation) {
  switch (activation) {
    case ConvnetActivation::kGelu:
      return at::gelu(x);
    case ConvnetActivation::kSilu:
      return at::silu(x);
    case ConvnetActivation::kTanh:
      return at::tanh(x);
    case ConvnetActivation::kRelu:
      break;
  }
  return at::relu(x);
}

at::Tensor pool(const at::Tensor& x, ConvnetPool kind) {
  if (kind == ConvnetPool::kNone) return x;
  return kind == ConvnetPool::kMax ? at::max_pool2d(x, {2, 2}) : at::avg_pool2d(x, {2, 2});
}

}  // namespace

ConvnetBlock::ConvnetBlock(const ConvnetShape& shape, std::int64_t in, std::int64_t out)
    : activation_(shape.activation), pool_(shape.pool) {
  const auto options =
      nn::Conv2dOptions(in, out, shape.kernel).padding(shape.kernel / 2).bias(shape.norm == ConvnetNorm::kNone);
  conv_ = register_module("conv", nn::Conv2d(options));
  if (shape.norm == ConvnetNorm::kBatch) batch_norm_ = register_module("norm", nn::BatchNorm2d(out));
  if (shape.norm == ConvnetNorm::kGroup)
    group_norm_ = register_module("norm", nn::GroupNorm(nn::GroupNormOptions(shape.groups, out)));
}

void ConvnetBlock::check_values(const at::Tensor& x) const {
  if (!is_training() || x.size(0) * x.size(2) * x.size(3) > 1) return;
  throw Error(
      ExitCode::kBadRecipe, "model.one_value", "model",
      "BatchNorm needs more than one value a channel in training, but this micro-batch is one sample of one pixel "
      "at this depth",
      "write norm = \"group\", use larger micro-batches, or set dataset.train.drop_last = true");
}

at::Tensor ConvnetBlock::normalised(const at::Tensor& x) {
  if (batch_norm_) {
    check_values(x);
    return batch_norm_->forward(x);
  }
  return group_norm_ ? group_norm_->forward(x) : x;
}

at::Tensor ConvnetBlock::forward(const at::Tensor& input) {
  const at::Tensor x = normalised(conv_->forward(input));
  // ReLU does not change an order, so the largest of four comes out the same before and after: a quarter of the work.
  if (activation_ == ConvnetActivation::kRelu && pool_ == ConvnetPool::kMax)
    return activate(pool(x, pool_), activation_);
  return pool(activate(x, activation_), pool_);
}

ConvnetNet::ConvnetNet(const ConvnetShape& shape) : shape_(shape) {
  std::int64_t channels = shape.input_channels;
  for (const std::int64_t out : shape.channels) {
    segment_names_.push_back("block." + std::to_string(blocks_.size()));
    blocks_.push_back(std::make_shared<ConvnetBlock>(shape, channels, out));
    channels = out;
  }
  auto blocks = register_module("block", nn::ModuleList());
  for (const auto& block : blocks_) blocks->push_back(block);
  auto head = register_module("head", nn::ModuleList());
  std::int64_t width = shape.features();
  const auto add = [&](std::int64_t out) {
    head_.emplace_back(width, out);
    head->push_back(head_.back());
    width = out;
  };
  for (const std::int64_t out : shape.hidden) add(out);
  add(shape.classes);
}

at::Tensor ConvnetNet::classify(at::Tensor x) {
  const bool drop = shape_.dropout > 0 && is_training();
  for (std::size_t i = 0; i < head_.size(); ++i) {
    if (i > 0) x = activate(x, shape_.activation);
    if (drop) x = at::dropout(x, shape_.dropout, true);
    x = head_[i]->forward(x);
  }
  return x;
}

at::Tensor ConvnetNet::forward(const at::Tensor& input, Segments& segments) {
  at::Tensor x = input.dim() == 3 ? input.unsqueeze(1) : input;
  // Not contiguous(): one channel is contiguous in both orders, and its strides would choose the slow one.
  x = x.to(x.options(), /*non_blocking=*/false, /*copy=*/false, at::MemoryFormat::ChannelsLast);
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    x = segments.run(segment_names_[i], [this, i](const at::Tensor& in) { return blocks_[i]->forward(in); }, x);
  return classify(shape_.head == ConvnetHead::kAverage ? x.mean({2, 3}) : x.flatten(1));
}

}  // namespace holdfast::plugins
