// Reads and checks the options of a convnet against the image they are meant for. Knows no tensors.
#include "convnet_shape.hpp"

#include <algorithm>
#include <utility>

#include "holdfast/dataset.hpp"

namespace holdfast::plugins {
namespace {

constexpr double kWidest = 65536, kLargestKernel = 31, kMostGroups = 65536;
constexpr std::int64_t kUsualGroups = 8;

ConvnetNorm norm_of(const std::string& word) {
  if (word == "group") return ConvnetNorm::kGroup;
  return word == "none" ? ConvnetNorm::kNone : ConvnetNorm::kBatch;
}

ConvnetActivation activation_of(const std::string& word) {
  if (word == "gelu") return ConvnetActivation::kGelu;
  if (word == "silu") return ConvnetActivation::kSilu;
  return word == "tanh" ? ConvnetActivation::kTanh : ConvnetActivation::kRelu;
}

ConvnetPool pool_of(const std::string& word) {
  if (word == "average") return ConvnetPool::kAverage;
  return word == "none" ? ConvnetPool::kNone : ConvnetPool::kMax;
}

std::string list_text(const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

[[noreturn]] void refuse(const Context& context, std::string reason, std::string message, std::string hint = {}) {
  throw Error(ExitCode::kBadRecipe, std::move(reason), context.table, std::move(message), std::move(hint));
}

void read_input(const Context& context, ConvnetShape& shape) {
  const FieldInfo* input = context.data ? context.data->find(field::kInput) : nullptr;
  if (!input) refuse(context, "model.no_input", "convnet needs a field 'input', but the training data set has none");
  if (input->dtype != "float32" && input->dtype != "float64")
    refuse(context, "model.input_dtype",
           "convnet takes float32 or float64, but the data set's field 'input' is " + input->dtype);
  const auto& sizes = input->shape;
  if (sizes.size() != 2 && sizes.size() != 3)
    refuse(context, "model.input_shape",
           "convnet takes images of [height, width] or [channels, height, width], but a sample's field 'input' has the "
           "shape " +
               list_text(sizes),
           "use the model mlp, which flattens any shape, or another data set");
  for (const std::int64_t size : sizes)
    if (size < 1)
      refuse(context, "model.no_input",
             "convnet needs at least one pixel, but a sample's field 'input' has the shape " + list_text(sizes));
  shape.input_channels = sizes.size() == 3 ? sizes[0] : 1;
  shape.height = sizes[sizes.size() - 2];
  shape.width = sizes.back();
}

void check_kernel(const Context& context, const ConvnetShape& shape) {
  if (shape.kernel % 2 == 0)
    refuse(
        context, "model.even_kernel",
        "convnet keeps the size of an image, which takes an odd kernel: got kernel = " + std::to_string(shape.kernel),
        "write kernel = " + std::to_string(shape.kernel - 1) + " or kernel = " + std::to_string(shape.kernel + 1));
}

void read_groups(const Options& options, const Context& context, ConvnetShape& shape) {
  if (shape.norm != ConvnetNorm::kGroup) {
    if (options.has("groups"))
      refuse(context, "model.unused_option",
             "'groups' is for norm = \"group\" only: got norm = \"" + options.string("norm") + "\"",
             "remove groups or change the norm");
    return;
  }
  shape.groups = options.has("groups") ? options.integer("groups") : kUsualGroups;
  for (const std::int64_t channels : shape.channels)
    if (channels % shape.groups != 0)
      refuse(context, "model.groups",
             "GroupNorm needs channels that its groups divide: got " + std::to_string(channels) + " channels in " +
                 std::to_string(shape.groups) + " groups",
             "set `groups` to a divisor of every one of channels = " + list_text(shape.channels));
}

std::int64_t pooled(std::int64_t size, const ConvnetShape& shape) {
  if (shape.pool == ConvnetPool::kNone) return size;
  for (std::size_t i = 0; i < shape.channels.size(); ++i) size /= 2;
  return size;
}

void check_pools(const Context& context, const ConvnetShape& shape) {
  if (pooled(shape.height, shape) > 0 && pooled(shape.width, shape) > 0) return;
  const auto size_text = [](std::int64_t height, std::int64_t width) {
    return std::to_string(height) + "×" + std::to_string(width);
  };
  std::size_t most = 0;
  for (std::int64_t side = std::min(shape.height, shape.width); side > 1; side /= 2) ++most;
  refuse(context, "model.too_many_pools",
         "each of the " + std::to_string(shape.channels.size()) + " blocks halves the image, but images of " +
             size_text(shape.height, shape.width) + " pixels can be halved " + std::to_string(most) +
             (most == 1 ? " time" : " times"),
         "shorten `channels` or write pool = \"none\"");
}

}  // namespace

std::int64_t ConvnetShape::features() const {
  if (head == ConvnetHead::kAverage) return channels.back();
  return channels.back() * pooled(height, *this) * pooled(width, *this);
}

void declare_convnet(OptionTable& options) {
  options.integers("channels", {32, 64})
      .min(1)
      .max(kWidest)
      .min_items(1)
      .doc("channels that leave each block; one block an item");
  options.integer("kernel", 3).min(1).max(kLargestKernel).doc("side of every kernel in pixels; odd");
  options.string("norm", "batch")
      .one_of({"batch", "group", "none"})
      .doc("after every convolution; \"none\" gives the convolution a bias instead");
  options.integer("groups")
      .min(1)
      .max(kMostGroups)
      .doc("groups of norm = \"group\"; they divide every item of channels (8)");
  options.string("activation", "relu")
      .one_of({"relu", "gelu", "silu", "tanh"})
      .doc("after every norm and every hidden layer of the head");
  options.string("pool", "max").one_of({"max", "average", "none"}).doc("at the end of every block, over 2×2 pixels");
  options.string("head", "flatten")
      .one_of({"flatten", "average"})
      .doc("what the classifier sees: every pixel, or each channel's mean");
  options.integers("hidden", {}).min(1).max(kWidest).doc("widths of hidden layers in the head");
  options.number("dropout", 0.0)
      .min(0)
      .below(1)
      .doc("share of values dropped in training before each layer of the head");
}

ConvnetShape convnet_shape(const Options& options, const Context& context) {
  ConvnetShape shape;
  read_input(context, shape);
  shape.channels = options.integers("channels");
  shape.kernel = options.integer("kernel");
  check_kernel(context, shape);
  shape.norm = norm_of(options.string("norm"));
  read_groups(options, context, shape);
  shape.activation = activation_of(options.string("activation"));
  shape.pool = pool_of(options.string("pool"));
  check_pools(context, shape);
  shape.head = options.string("head") == "average" ? ConvnetHead::kAverage : ConvnetHead::kFlatten;
  shape.hidden = options.integers("hidden");
  shape.dropout = options.number("dropout");
  return shape;
}

}  // namespace holdfast::plugins
