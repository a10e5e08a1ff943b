// Fits the network to options and data. Knows nothing of the training around it.
#include "gpt.hpp"

namespace holdfast::plugins {
namespace {

constexpr double kDeepest = 1024, kWidest = 65536;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const auto extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

const FieldInfo& input_of(const Context& context) {
  const FieldInfo* input = context.data ? context.data->find(field::kInput) : nullptr;
  if (!input)
    throw Error(ExitCode::kBadRecipe, "model.no_input", context.table,
                "gpt needs a field 'input', but the training data set has none",
                "use a data set of tokens, as text is");
  if (input->dtype != "int64")
    throw Error(ExitCode::kBadRecipe, "model.input_dtype", context.table,
                "gpt takes tokens as int64, but the data set's field 'input' is " + input->dtype,
                "use a data set of tokens, as text is");
  if (input->shape.size() != 1 || input->shape[0] < 1)
    throw Error(ExitCode::kBadRecipe, "model.input_shape", context.table,
                "gpt takes a row of tokens a sample, [context], but the data set's field 'input' is " +
                    shape_text(input->shape));
  return *input;
}

void check_target(const FieldInfo& input, const Context& context) {
  const FieldInfo& target = *context.data->find(field::kTarget);
  if (target.shape != input.shape)
    throw Error(ExitCode::kBadRecipe, "model.target_shape", context.table,
                "gpt tells one token a place, so 'target' has the shape of 'input', but the data set's 'input' is " +
                    shape_text(input.shape) + " and its 'target' is " + shape_text(target.shape));
  if (target.classes != input.classes)
    throw Error(ExitCode::kBadRecipe, "model.vocabulary", context.table,
                "gpt has one vocabulary, but the data set's 'input' has " + std::to_string(input.classes) +
                    " tokens and its 'target' " + std::to_string(target.classes));
}

GptShape shape_of(const Options& options, const Context& context) {
  const FieldInfo& input = input_of(context);
  GptShape shape;
  shape.vocabulary = task::LanguageModel::from(context).vocabulary();
  check_target(input, context);
  shape.context = input.shape[0];
  shape.depth = options.integer("depth");
  shape.width = options.integer("width");
  shape.heads = options.integer("heads");
  shape.dropout = options.number("dropout");
  shape.tied = options.boolean("tied");
  if (shape.width % shape.heads != 0)
    throw Error(ExitCode::kBadRecipe, "model.heads", context.table,
                "`width` must be a multiple of `heads`: got " + std::to_string(shape.width) + " and " +
                    std::to_string(shape.heads),
                "each head takes an equal share of the width");
  return shape;
}

}  // namespace

void Gpt::declare(OptionTable& options) {
  options.integer("depth", 6).min(1).max(kDeepest).doc("number of blocks");
  options.integer("width", 384).min(1).max(kWidest).doc("values that stand for a token between blocks");
  options.integer("heads", 6).min(1).max(kWidest).doc("attention heads of a block; a divisor of the width");
  options.number("dropout", 0.0)
      .min(0)
      .below(1)
      .doc("share of values dropped in training: embeddings, attention weights, what a block adds");
  options.boolean("tied", true).doc("whether the output layer is the token embedding, as in GPT-2");
}

Gpt::Gpt(const Options& options, const Context& context)
    : ModuleModel{std::make_shared<GptNet>(shape_of(options, context)), task::LanguageModel::from(context)},
      drops_(options.number("dropout") > 0) {}

double Gpt::weight(const Batch& batch) const {
  task::count_labels(
      batch, {field::kInput, "input token", "tokens", "input tokens", "tokens", task().vocabulary(), std::nullopt});
  return ModuleModel::weight(batch);
}

Traits Gpt::traits() const {
  Traits traits = ModuleModel::traits();
  traits.draws_random = drops_;
  return traits;
}

}  // namespace holdfast::plugins
