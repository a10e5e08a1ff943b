// The mlp plugin's model: names, shapes from the data, initialisation, segments, errors.
#include "mlp/mlp.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include "fixtures/components.hpp"
#include "fixtures/named_segments.hpp"

namespace {

using holdfast::Batch;
using holdfast::Options;
using holdfast::plugins::Mlp;
using holdfast::test::defaults;
using holdfast::test::Lender;
using holdfast::test::NamedSegments;
using holdfast::test::told;

holdfast::DataFacts digits() { return {{{"input", "float32", {1, 8, 8}, 0}, {"target", "int64", {}, 10}}}; }

Batch batch_of(std::int64_t samples) {
  Batch batch;
  batch.fields = {{"input", torch::rand({samples, 1, 8, 8})}, {"target", torch::zeros({samples}, torch::kLong)}};
  for (std::int64_t i = 0; i < samples; ++i) batch.samples.push_back({i, i});
  return batch;
}

Options with(std::vector<std::int64_t> hidden, const std::string& activation = "relu", double dropout = 0) {
  Options options = defaults<Mlp>();
  options.set("hidden", std::move(hidden));
  options.set("activation", activation);
  options.set("dropout", dropout);
  return options;
}

}  // namespace

TEST_CASE("The mlp has the names, shapes and initial values of a plain Sequential of Linear layers") {
  Lender lender{digits()};
  torch::manual_seed(3);
  Mlp model(with({32, 16}), lender.context("model"));
  torch::manual_seed(3);
  torch::nn::Sequential plain;
  plain->push_back(torch::nn::Linear(64, 32));
  plain->push_back(torch::nn::ReLU());
  plain->push_back(torch::nn::Linear(32, 16));
  plain->push_back(torch::nn::ReLU());
  plain->push_back(torch::nn::Linear(16, 10));
  const auto expected = plain->named_parameters();
  const auto actual = model.parameters();
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CHECK(actual[i].name == expected[i].key());
    CHECK(torch::equal(actual[i].tensor, expected[i].value()));
  }
  CHECK(model.buffers().empty());
  const Batch batch = batch_of(5);
  NamedSegments segments(false);
  CHECK(torch::equal(model.forward(batch, segments).get("output"), plain->forward(batch.fields[0].tensor.flatten(1))));
}

TEST_CASE("Every activation computes what its name says") {
  Lender lender{digits()};
  const Batch batch = batch_of(3);
  for (const std::string word : {"relu", "gelu", "tanh"}) {
    CAPTURE(word);
    Mlp model(with({12}, word), lender.context("model"));
    NamedSegments segments(false);
    const auto p = model.parameters();
    const auto hidden = torch::linear(batch.fields[0].tensor.flatten(1), p[0].tensor, p[1].tensor);
    const auto active = word == "relu"   ? torch::relu(hidden)
                        : word == "gelu" ? torch::gelu(hidden)
                                         : torch::tanh(hidden);
    CHECK(torch::equal(model.forward(batch, segments).get("output"), torch::linear(active, p[2].tensor, p[3].tensor)));
  }
}

TEST_CASE("One segment a hidden layer when segments are active, and the same output") {
  Lender lender{digits()};
  Mlp model(with({8, 8}), lender.context("model"));
  const Batch batch = batch_of(4);
  NamedSegments active(true), idle(false);
  CHECK(torch::equal(model.forward(batch, active).get("output"), model.forward(batch, idle).get("output")));
  CHECK(active.names == "hidden.0 hidden.1 ");
  CHECK(idle.names.empty());
  CHECK(model.traits().has_segments);
}

TEST_CASE("Dropout acts in training only, keeps the names and shows in the traits") {
  Lender lender{digits()};
  Mlp model(with({64}, "relu", 0.5), lender.context("model"));
  CHECK(model.traits().draws_random);
  CHECK_FALSE(Mlp(with({64}), lender.context("model")).traits().draws_random);
  CHECK(model.parameters()[2].name == "2.weight");
  const Batch batch = batch_of(4);
  NamedSegments segments(false);
  const auto twice_equal = [&] {
    return torch::equal(model.forward(batch, segments)[0].tensor, model.forward(batch, segments)[0].tensor);
  };
  CHECK_FALSE(twice_equal());
  model.train(false);
  CHECK(twice_equal());
  model.train(true);
  CHECK_FALSE(twice_equal());
}

TEST_CASE("An mlp without hidden layers is a linear classifier, and float64 data makes a float64 model") {
  Lender lender{digits()};
  lender.facts.fields[0].dtype = "float64";
  Mlp model(with({}), lender.context("model"));
  REQUIRE(model.parameters().size() == 2);
  CHECK(model.parameters()[0].tensor.sizes() == at::IntArrayRef({10, 64}));
  CHECK(model.parameters()[0].tensor.is_floating_point());
  CHECK(model.parameters()[0].tensor.element_size() == 8);
}

TEST_CASE("The mlp says in one sentence what the data set does not tell") {
  Lender lender;
  const auto make = [&] { Mlp(defaults<Mlp>(), lender.context("model")); };
  CHECK(told(make) == "78 model: error[model.no_input]: mlp needs a field 'input', but the training data set has none");
  lender.facts.fields = {{"input", "int64", {4}, 0}};
  CHECK(told(make) ==
        "78 model: error[model.input_dtype]: mlp takes float32 or float64, but the data set's field 'input' is int64");
  lender.facts.fields = {{"input", "float32", {0}, 0}, {"target", "int64", {}, 2}};
  CHECK(told(make) ==
        "78 model: error[model.no_input]: mlp needs at least one input value, but a sample's field 'input' is empty");
  lender.facts.fields = {{"input", "float32", {4}, 0}, {"target", "int64", {}, 0}};
  CHECK(
      told(make) ==
      "78 model: error[model.no_classes]: the training data set does not say how many classes its field 'target' has\n"
      "  hint: use a data set that does, or set its option for the number of classes");
}
