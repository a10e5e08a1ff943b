// Builds and runs the multi-layer perceptron. Knows nothing of the training around it.
#include "mlp.hpp"

#include <utility>

namespace holdfast::plugins {
namespace {

constexpr double kWidest = 65536;

Activation activation_of(const std::string& word) {
  if (word == "gelu") return Activation::kGelu;
  return word == "tanh" ? Activation::kTanh : Activation::kRelu;
}

const FieldInfo& input_of(const Context& context) {
  const FieldInfo* input = context.data ? context.data->find(field::kInput) : nullptr;
  if (!input)
    throw Error(ExitCode::kBadRecipe, "model.no_input", context.table,
                "mlp needs a field 'input', but the training data set has none");
  if (input->dtype != "float32" && input->dtype != "float64")
    throw Error(ExitCode::kBadRecipe, "model.input_dtype", context.table,
                "mlp takes float32 or float64, but the data set's field 'input' is " + input->dtype);
  return *input;
}

MlpShape shape_of(const Options& options, const Context& context) {
  MlpShape shape;
  shape.features = 1;
  for (const std::int64_t size : input_of(context).shape) shape.features *= size;
  if (shape.features < 1)
    throw Error(ExitCode::kBadRecipe, "model.no_input", context.table,
                "mlp needs at least one input value, but a sample's field 'input' is empty");
  shape.hidden = options.integers("hidden");
  shape.classes = task::Classification::from(context).classes();
  shape.activation = activation_of(options.string("activation"));
  shape.dropout = options.number("dropout");
  return shape;
}

std::shared_ptr<MlpNet> build(const Options& options, const Context& context) {
  auto net = std::make_shared<MlpNet>(shape_of(options, context));
  if (input_of(context).dtype == "float64") net->to(at::kDouble);
  return net;
}

}  // namespace

MlpNet::MlpNet(MlpShape shape) : shape_(std::move(shape)) {
  std::int64_t width = shape_.features;
  const auto add = [&](std::int64_t out) {
    layers_.push_back(register_module(std::to_string(2 * layers_.size()), torch::nn::Linear(width, out)));
    width = out;
  };
  for (std::size_t i = 0; i < shape_.hidden.size(); ++i) {
    add(shape_.hidden[i]);
    segment_names_.push_back("hidden." + std::to_string(i));
  }
  add(shape_.classes);
}

at::Tensor MlpNet::activate(const at::Tensor& x) const {
  switch (shape_.activation) {
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kTanh:
      return at::tanh(x);
    case Activation::kRelu:
      break;
  }
  return at::relu(x);
}

at::Tensor MlpNet::forward(const at::Tensor& input, Segments& segments) {
  at::Tensor x = input.dim() == 2 ? input : input.reshape({input.size(0), shape_.features});
  const bool drop = shape_.dropout > 0 && is_training();
  for (std::size_t i = 0; i < segment_names_.size(); ++i)
    x = segments.run(
        segment_names_[i],
        [this, i, drop](const at::Tensor& in) {
          at::Tensor out = activate(layers_[i]->forward(in));
          return drop ? at::dropout(out, shape_.dropout, true) : out;
        },
        x);
  return layers_.back()->forward(x);
}

void Mlp::declare(OptionTable& options) {
  options.integers("hidden", {128})
      .min(1)
      .max(kWidest)
      .doc("widths of the hidden layers; [] makes a linear classifier");
  options.string("activation", "relu").one_of({"relu", "gelu", "tanh"}).doc("after every hidden layer");
  options.number("dropout", 0.0).min(0).below(1).doc("share of hidden values dropped in training");
}

Mlp::Mlp(const Options& options, const Context& context)
    : ModuleModel{build(options, context), task::Classification::from(context)},  // braces: in this order
      drops_(options.number("dropout") > 0) {}

Traits Mlp::traits() const {
  Traits traits = ModuleModel::traits();
  traits.draws_random = drops_;
  return traits;
}

}  // namespace holdfast::plugins
