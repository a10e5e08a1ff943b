// A classifier of sequences: GRU layers, the last state, a linear layer. Takes "input" [N, time, features].
#include <holdfast/module.hpp>
#include <holdfast/plugin.hpp>
#include <holdfast/task.hpp>

namespace {

namespace nn = torch::nn;
using namespace holdfast;

class GruNet : public nn::Module {
 public:
  GruNet(std::int64_t features, std::int64_t classes, const Options& options)
      : gru_(register_module("gru", nn::GRU(nn::GRUOptions(features, options.integer("hidden"))
                                                .num_layers(options.integer("layers"))
                                                .dropout(options.number("dropout"))
                                                .batch_first(true)))),
        head_(register_module("head", nn::Linear(options.integer("hidden"), classes))) {}

  at::Tensor forward(const at::Tensor& input) {
    const at::Tensor states = std::get<0>(gru_->forward(input));
    return head_->forward(states.select(1, -1));
  }

 private:
  nn::GRU gru_;
  nn::Linear head_;
};

std::int64_t features_of(const Context& context) {
  const FieldInfo* input = context.data ? context.data->find(field::kInput) : nullptr;
  if (!input || input->dtype != "float32" || input->shape.size() != 2)
    throw Error(ExitCode::kBadRecipe, "model.input", context.table,
                "gru_classifier needs a float32 field 'input' of shape [time, features], which the data set has not");
  return input->shape[1];
}

class GruClassifier : public ModuleModel<GruNet, task::Classification> {
 public:
  static void declare(OptionTable& options) {
    options.integer("hidden", 32).min(1).doc("width of the recurrent state");
    options.integer("layers", 1).min(1).doc("GRU layers, one on top of the other");
    options.number("dropout", 0.0).min(0).below(1).doc("between GRU layers, in training");
  }
  GruClassifier(const Options& options, const Context& context)
      : ModuleModel(std::make_shared<GruNet>(features_of(context), task::Classification::from(context).classes(), options),
                    task::Classification::from(context)) {}
};

}  // namespace

HOLDFAST_PLUGIN("gru_classifier", "0.1.0", "recurrent classifier of sequences") {
  registrar.add<GruClassifier>("gru_classifier", "GRU, last state, linear layer, cross-entropy");
}
