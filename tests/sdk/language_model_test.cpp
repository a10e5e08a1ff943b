// task::LanguageModel: units, target checks, loss as a sum over unmasked tokens, perplexity.
#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cmath>

#include "fixtures/components.hpp"
#include "holdfast/task.hpp"

using holdfast::Batch;
using holdfast::Outputs;
using holdfast::task::LanguageModel;
using holdfast::test::Lender;
using holdfast::test::told;

namespace {

Batch targets(const at::Tensor& tokens, std::int64_t first_index = 100) {
  Batch batch;
  batch.fields.push_back({"target", tokens});
  for (std::int64_t i = 0; i < tokens.size(0); ++i) batch.samples.push_back({first_index + i, i});
  return batch;
}

at::Tensor rows(std::vector<std::int64_t> tokens, std::int64_t length) {
  return torch::tensor(tokens, torch::kLong).view({-1, length});
}

}  // namespace

TEST_CASE("The weight of a language model is its unmasked tokens, over samples of any length") {
  const LanguageModel task(10);
  CHECK(task.weight(targets(rows({1, 2, 3, 4, 5, 6}, 3))) == 6);
  CHECK(task.weight(targets(rows({1, 2, -100, -100, -100, 6}, 3))) == 3);
  CHECK(task.weight(targets(rows({-100, -100}, 2))) == 0);
  CHECK(LanguageModel(10, 0).weight(targets(rows({0, 2, 0, 4}, 2))) == 2);
}

TEST_CASE("C72: a target outside the vocabulary is refused, naming sample, token and range") {
  const std::string hint = "\n  hint: tokens count from 0; a place without a target token holds -100";
  CHECK(told([] { (void)LanguageModel(256).weight(targets(rows({1, 2, 3, 4, 256, 6}, 2))); }) ==
        "65 sample 102: error[data.label_range]: target token 256 lies outside 0..255, the range of the model's 256 "
        "tokens" +
            hint);
  CHECK(told([] { (void)LanguageModel(256).weight(targets(rows({1, -1, 3, 4}, 2))); }) ==
        "65 sample 100: error[data.label_range]: target token -1 lies outside 0..255, the range of the model's 256 "
        "tokens" +
            hint);
  CHECK(told([] { (void)LanguageModel(256).weight(targets(torch::ones({1, 2}))); }) ==
        "65 error[data.label_dtype]: target tokens must be int64, but the batch's field 'target' is Float");
}

TEST_CASE("The loss is the sum of -log p over the unmasked tokens, and perplexity the exponential of its mean") {
  torch::manual_seed(2);
  const LanguageModel task(7);
  const Outputs outputs = {{"output", torch::randn({2, 3, 7}, torch::kDouble)}};
  const Batch batch = targets(rows({4, -100, 6, 0, 1, -100}, 3));
  const at::Tensor log_p = outputs[0].tensor.log_softmax(2);
  double expected = 0;
  for (const auto& [n, t, token] : {std::array{0, 0, 4}, std::array{0, 2, 6}, std::array{1, 0, 0}, std::array{1, 1, 1}})
    expected -= log_p[n][t][token].item<double>();
  CHECK(task.loss(outputs, batch).item<double>() == doctest::Approx(expected).epsilon(1e-12));
  holdfast::Scores scores;
  task.score(outputs, batch, scores);
  REQUIRE(scores.entries.size() == 1);
  CHECK(scores.entries[0].name == "perplexity");
  CHECK(scores.entries[0].exponential);
  CHECK(scores.entries[0].weight == 4);
  CHECK(scores.entries[0].sum == doctest::Approx(expected).epsilon(1e-12));
}

TEST_CASE("A masked place gives no gradient") {
  const LanguageModel task(5);
  at::Tensor logits = torch::randn({1, 3, 5}, torch::requires_grad());
  task.loss({{"output", logits}}, targets(rows({1, -100, 2}, 3))).backward();
  CHECK(logits.grad()[0][1].abs().sum().item<double>() == 0);
  CHECK(logits.grad()[0][2].abs().sum().item<double>() > 0.1);
}

TEST_CASE("The loss of ragged samples is the sum of the losses of any split") {
  torch::manual_seed(3);
  const LanguageModel task(6);
  const at::Tensor logits = torch::randn({4, 5, 6}, torch::kDouble);
  at::Tensor tokens = torch::randint(6, {4, 5}, torch::kLong);
  for (std::int64_t n = 0; n < 4; ++n) tokens[n].narrow(0, 5 - n, n).fill_(-100);  // 5, 4, 3, 2 tokens
  double parts = 0, weight = 0;
  for (std::int64_t n = 0; n < 4; ++n) {
    parts += task.loss({{"output", logits.narrow(0, n, 1)}}, targets(tokens.narrow(0, n, 1))).item<double>();
    weight += task.weight(targets(tokens.narrow(0, n, 1)));
  }
  CHECK(weight == 14);
  CHECK(task.weight(targets(tokens)) == 14);
  CHECK(task.loss({{"output", logits}}, targets(tokens)).item<double>() == doctest::Approx(parts).epsilon(1e-13));
}

TEST_CASE("The vocabulary comes from the data set, or one sentence says what is missing") {
  Lender lender;
  const auto make = [&] { return LanguageModel::from(lender.context("model")); };
  CHECK(told(make) ==
        "78 model: error[model.no_target]: a language model needs the tokens that follow, but the training data set "
        "has no field 'target'\n  hint: give the data set its labels");
  lender.facts.fields = {{"target", "int32", {8}, 10}};
  CHECK(told(make) ==
        "78 model: error[model.target_dtype]: target tokens must be int64, but the data set's field 'target' is int32");
  lender.facts.fields = {{"target", "int64", {8}, 0}};
  CHECK(told(make) ==
        "78 model: error[model.no_classes]: the training data set does not say how many classes its field 'target' "
        "has\n  hint: use a data set that does, or set its option for the number of classes");
  lender.facts.fields = {{"target", "int64", {8}, 50257}};
  CHECK(make().vocabulary() == 50257);
}
