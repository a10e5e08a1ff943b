// Builds the model from options and data. Knows nothing of the training around it.
#include "convnet.hpp"

namespace holdfast::plugins {
namespace {

std::shared_ptr<ConvnetNet> build(const Options& options, const Context& context) {
  ConvnetShape shape = convnet_shape(options, context);
  shape.classes = task::Classification::from(context).classes();
  auto net = std::make_shared<ConvnetNet>(shape);
  if (context.data->find(field::kInput)->dtype == "float64") net->to(at::kDouble);
  return net;
}

}  // namespace

Convnet::Convnet(const Options& options, const Context& context)
    : ModuleModel{build(options, context), task::Classification::from(context)},  // braces: in this order
      drops_(options.number("dropout") > 0) {}

Traits Convnet::traits() const {
  Traits traits = ModuleModel::traits();
  traits.draws_random = drops_;
  return traits;
}

}  // namespace holdfast::plugins
