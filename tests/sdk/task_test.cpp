// task::Classification: units, label checks, loss as a sum, accuracy.
#include "holdfast/task.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "fixtures/components.hpp"

using holdfast::Batch;
using holdfast::Context;
using holdfast::Outputs;
using holdfast::task::Classification;
using holdfast::test::Lender;
using holdfast::test::told;

namespace {

Batch labelled(const std::vector<std::int64_t>& labels, std::int64_t first_index = 100) {
  Batch batch;
  batch.fields.push_back({"target", torch::tensor(labels, torch::kLong)});
  for (std::size_t i = 0; i < labels.size(); ++i)
    batch.samples.push_back({first_index + static_cast<std::int64_t>(i), static_cast<std::int64_t>(i)});
  return batch;
}

}  // namespace

TEST_CASE("C72: labels 1..10 for 10 classes are refused before any kernel sees them, naming sample, label and range") {
  CHECK(told([] { (void)Classification(10).weight(labelled({1, 2, 3, 4, 5, 6, 7, 8, 9, 10})); }) ==
        "65 sample 109: error[data.label_range]: label 10 lies outside 0..9, the range of the model's 10 classes\n"
        "  hint: labels count from 0; a place without a label holds -100");
}

TEST_CASE("C72: labels -1 and 255 are refused") {
  CHECK(told([] { (void)Classification(10).weight(labelled({3, -1})); }) ==
        "65 sample 101: error[data.label_range]: label -1 lies outside 0..9, the range of the model's 10 classes\n"
        "  hint: labels count from 0; a place without a label holds -100");
  CHECK(told([] { (void)Classification(10, -1).weight(labelled({255, 3})); }) ==
        "65 sample 100: error[data.label_range]: label 255 lies outside 0..9, the range of the model's 10 classes\n"
        "  hint: labels count from 0; a place without a label holds -1");
}

TEST_CASE("C72: labels that are no integers are refused by their type") {
  Batch batch;
  batch.fields.push_back({"target", torch::tensor({1.5F})});
  batch.samples.push_back({0, 0});
  CHECK(told([&] { (void)Classification(10).weight(batch); }) ==
        "65 error[data.label_dtype]: class labels must be int64, but the batch's field 'target' is Float");
}

TEST_CASE("C72: the ignore index is honoured by weight, loss and accuracy") {
  const Classification task(3, 255);
  const Batch batch = labelled({0, 255, 2, 255});
  CHECK(task.weight(batch) == 2);
  const Outputs outputs = {
      {"output", torch::tensor({{5.F, 0.F, 0.F}, {9.F, 9.F, 9.F}, {1.F, 0.F, 0.F}, {0.F, 9.F, 0.F}})}};
  const at::Tensor rows = outputs[0].tensor.index_select(0, torch::tensor({0, 2}));
  const auto expected = -(rows.log_softmax(1)[0][0] + rows.log_softmax(1)[1][2]);
  CHECK(task.loss(outputs, batch).item<double>() == doctest::Approx(expected.item<double>()).epsilon(1e-6));
  holdfast::Scores scores;
  task.score(outputs, batch, scores);
  REQUIRE(scores.entries.size() == 1);
  CHECK(scores.entries[0].name == "accuracy");
  CHECK(scores.entries[0].sum == 1);
  CHECK(scores.entries[0].weight == 2);
}

TEST_CASE("A label inside a map of labels names the sample it belongs to") {
  Batch batch;
  batch.fields.push_back({"target", torch::zeros({2, 2, 2}, torch::kLong)});
  batch.fields[0].tensor[1][0][1] = 7;
  batch.samples = {{40, 0}, {41, 1}};
  CHECK(told([&] {
          (void)Classification(5).weight(batch);
        }).starts_with("65 sample 41: error[data.label_range]: label 7 "));
  batch.fields[0].tensor[1][0][1] = 4;
  CHECK(Classification(5).weight(batch) == 8);
}

TEST_CASE("The loss is the sum of the losses of any split") {
  torch::manual_seed(1);
  const Classification task(4);
  const Outputs all = {{"output", torch::randn({6, 4}, torch::kDouble)}};
  const double whole = task.loss(all, labelled({0, 1, 2, 3, 0, 1})).item<double>();
  const Outputs head = {{"output", all[0].tensor.narrow(0, 0, 4)}}, tail = {{"output", all[0].tensor.narrow(0, 4, 2)}};
  const double parts =
      task.loss(head, labelled({0, 1, 2, 3})).item<double>() + task.loss(tail, labelled({0, 1})).item<double>();
  CHECK(whole == doctest::Approx(parts).epsilon(1e-14));
}

TEST_CASE("Loss and gradient of a small batch are ATen's, ignored labels and wide logits included") {
  torch::manual_seed(2);
  for (const std::int64_t classes : {1, 3, 10, 17, 300}) {
    const at::Tensor logits = (torch::randn({32, classes}) * 30).requires_grad_(true);
    const at::Tensor same = logits.detach().clone().requires_grad_(true);
    at::Tensor target = torch::randint(classes, {32}, torch::kLong);
    target[5] = target[31] = -100;
    REQUIRE(holdfast::task::SmallCrossEntropy::takes(logits, target));
    const at::Tensor loss = holdfast::task::cross_entropy_sum(logits, target, -100);
    const at::Tensor expected = at::cross_entropy_loss(same, target, {}, at::Reduction::Sum, -100);
    CHECK(loss.dim() == 0);
    CHECK(loss.item<double>() == doctest::Approx(expected.item<double>()).epsilon(1e-6));
    const at::Tensor scale = torch::full({}, 0.25);
    loss.backward(scale);
    expected.backward(scale);
    CHECK(at::allclose(logits.grad(), same.grad(), 1e-5, 1e-7));
    CHECK(logits.grad()[5].count_nonzero().item<std::int64_t>() == 0);
  }
}

TEST_CASE("A logit that is not finite reaches the loss, and a label beyond the classes is an error") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto loss = [](std::vector<float> logits, std::int64_t label) {
    return holdfast::task::cross_entropy_sum(torch::tensor(logits).unsqueeze(0), torch::tensor({label}), -100)
        .item<double>();
  };
  CHECK(std::isnan(loss({0.F, NAN, 1.F}, 0)));
  CHECK(std::isnan(loss({NAN, 0.F, 1.F}, 2)));
  CHECK(std::isnan(loss({0.F, infinity, 1.F}, 0)));
  CHECK(loss({0.F, -infinity, 1.F}, 1) == infinity);
  CHECK_THROWS_AS((void)loss({0.F, 1.F}, 2), c10::IndexError);
}

TEST_CASE("What is no small batch of plain float logits goes to ATen") {
  using holdfast::task::SmallCrossEntropy;
  const at::Tensor target = torch::zeros({4}, torch::kLong);
  CHECK(SmallCrossEntropy::takes(torch::zeros({4, 5}), target));
  CHECK_FALSE(SmallCrossEntropy::takes(torch::zeros({4, 5}, torch::kDouble), target));
  CHECK_FALSE(SmallCrossEntropy::takes(torch::zeros({4, 5}, torch::kBFloat16), target));
  CHECK_FALSE(SmallCrossEntropy::takes(torch::zeros({5, 4}).t(), target));
  CHECK_FALSE(SmallCrossEntropy::takes(torch::zeros({4, 5000}), target));
  CHECK_FALSE(SmallCrossEntropy::takes(torch::zeros({4, 5, 2}), torch::zeros({4, 2}, torch::kLong)));
  CHECK_FALSE(SmallCrossEntropy::takes(torch::zeros({0, 5}), torch::zeros({0}, torch::kLong)));
}

TEST_CASE("The number of classes comes from the data set, or one sentence says what is missing") {
  Lender lender;
  const auto make = [&] { return Classification::from(lender.context("model")); };
  CHECK(
      told(make) ==
      "78 model: error[model.no_target]: classification needs labels, but the training data set has no field 'target'\n"
      "  hint: give the data set its labels");
  lender.facts.fields = {{"target", "float32", {}, 10}};
  CHECK(
      told(make) ==
      "78 model: error[model.target_dtype]: class labels must be int64, but the data set's field 'target' is float32");
  lender.facts.fields = {{"target", "int64", {}, 0}};
  CHECK(
      told(make) ==
      "78 model: error[model.no_classes]: the training data set does not say how many classes its field 'target' has\n"
      "  hint: use a data set that does, or set its option for the number of classes");
  lender.facts.fields = {{"target", "int64", {}, 10}};
  CHECK(make().classes() == 10);
}
