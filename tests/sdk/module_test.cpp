// ModuleModel: names, shared and frozen parameters, training flags, traits, the three forms of forward.
#include "holdfast/module.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include "holdfast/task.hpp"

namespace {

using holdfast::Batch;
using holdfast::ModuleModel;
using holdfast::NamedTensors;
using holdfast::Outputs;
using holdfast::Segments;
using holdfast::task::Classification;

struct PlainSegments : Segments {
  std::vector<at::Tensor> run_list(std::string_view, const Function& fn, std::vector<at::Tensor> inputs) override {
    return fn(inputs);
  }
  [[nodiscard]] bool active() const override { return false; }
};

/// A linear layer whose weight may be another layer's.
struct TiedLinear : torch::nn::Module {
  explicit TiedLinear(const at::Tensor& shared) : weight(register_parameter("weight", shared)) {}
  at::Tensor forward(const at::Tensor& x) { return at::linear(x, weight); }
  at::Tensor weight;
};

/// Tied weights, a frozen layer, a BatchNorm that may be frozen, a dropout.
struct Net : torch::nn::Module {
  explicit Net(double p = 0.5, bool frozen_norm = false) {
    in = register_module("in", torch::nn::Linear(4, 4));
    norm = register_module("norm", torch::nn::BatchNorm1d(4));
    drop = register_module("drop", torch::nn::Dropout(p));
    out = register_module("out", std::make_shared<TiedLinear>(in->weight));
    frozen = register_module("frozen", torch::nn::Linear(4, 4));
    for (auto& parameter : frozen->parameters()) parameter.requires_grad_(false);
    if (frozen_norm) norm->eval();
  }
  at::Tensor forward(const at::Tensor& x) { return out->forward(drop->forward(norm->forward(in->forward(x)))); }

  torch::nn::Linear in{nullptr}, frozen{nullptr};
  std::shared_ptr<TiedLinear> out;
  torch::nn::BatchNorm1d norm{nullptr};
  torch::nn::Dropout drop{nullptr};
};

struct SegmentNet : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x, Segments& segments) {
    return segments.run("twice", [](const at::Tensor& in) { return in * 2; }, x);
  }
};

struct FullNet : torch::nn::Module {
  Outputs forward(const Batch& batch, Segments&) {
    return {{"sum", batch.fields.get("a") + batch.fields.get("b")}, {"a", batch.fields.get("a")}};
  }
};

template <class N>
ModuleModel<N, Classification> model_of(std::shared_ptr<N> net) {
  return ModuleModel<N, Classification>(std::move(net), Classification(4));
}

std::string names(const NamedTensors& tensors) {
  std::string text;
  for (const auto& entry : tensors) text += entry.name + " ";
  return text;
}

}  // namespace

TEST_CASE("Parameters stand once under their first name, frozen ones among the buffers") {
  auto model = model_of(std::make_shared<Net>());
  CHECK(names(model.parameters()) == "in.weight in.bias norm.weight norm.bias ");
  CHECK(names(model.buffers()) ==
        "frozen.weight frozen.bias norm.running_mean norm.running_var norm.num_batches_tracked ");
  CHECK(model.parameters().get("in.weight").is_same(model.net().in->weight));
}

TEST_CASE("A parameter frozen or thawed later moves between the two lists") {
  auto model = model_of(std::make_shared<Net>());
  model.net().in->weight.requires_grad_(false);
  CHECK(names(model.parameters()) == "in.bias norm.weight norm.bias ");
  model.net().frozen->bias.requires_grad_(true);
  CHECK(names(model.parameters()) == "in.bias norm.weight norm.bias frozen.bias ");
}

TEST_CASE("C25: training mode gives each module its own earlier flag back, a frozen BatchNorm stays in eval") {
  auto model = model_of(std::make_shared<Net>(0.5, true));
  for (int round = 0; round < 2; ++round) {
    model.train(false);
    CHECK_FALSE(model.net().is_training());
    CHECK_FALSE(model.net().drop->is_training());
    CHECK_FALSE(model.net().norm->is_training());
    model.train(true);
    CHECK(model.net().is_training());
    CHECK(model.net().drop->is_training());
    CHECK(model.net().in->is_training());
    CHECK_FALSE(model.net().norm->is_training());
  }
}

TEST_CASE("Traits follow from the modules as they stand at construction") {
  const auto traits = [](double p, bool frozen) { return model_of(std::make_shared<Net>(p, frozen)).traits(); };
  CHECK(traits(0.5, false).draws_random);
  CHECK(traits(0.5, false).batch_coupled);
  CHECK_FALSE(traits(0.0, true).draws_random);
  CHECK_FALSE(traits(0.0, true).batch_coupled);
  CHECK_FALSE(traits(0.0, true).has_segments);
  CHECK(model_of(std::make_shared<SegmentNet>()).traits().has_segments);
}

TEST_CASE("Dropout inside recurrent and attention modules is seen, unused dropout is not") {
  namespace nn = torch::nn;
  CHECK(holdfast::module_draws_random(nn::LSTMImpl(nn::LSTMOptions(2, 2).num_layers(2).dropout(0.1))));
  CHECK_FALSE(holdfast::module_draws_random(nn::LSTMImpl(nn::LSTMOptions(2, 2).num_layers(1).dropout(0.0))));
  CHECK(holdfast::module_draws_random(nn::MultiheadAttentionImpl(nn::MultiheadAttentionOptions(4, 2).dropout(0.1))));
  CHECK(holdfast::module_couples_batch(nn::BatchNorm2dImpl(3)));
  nn::BatchNorm2dImpl untracked(nn::BatchNorm2dOptions(3).track_running_stats(false));
  untracked.eval();
  CHECK(holdfast::module_couples_batch(untracked));
}

TEST_CASE("The three forms of forward") {
  PlainSegments segments;
  Batch batch;
  batch.fields = {{"input", torch::ones({2, 4})}};
  CHECK(model_of(std::make_shared<Net>()).forward(batch, segments).get("output").sizes() == at::IntArrayRef({2, 4}));
  const Outputs doubled = model_of(std::make_shared<SegmentNet>()).forward(batch, segments);
  CHECK(torch::equal(doubled.get("output"), torch::full({2, 4}, 2.F)));
  batch.fields = {{"a", torch::ones({2})}, {"b", torch::ones({2})}};
  const Outputs full = model_of(std::make_shared<FullNet>()).forward(batch, segments);
  CHECK(names(full) == "sum a ");
  CHECK(torch::equal(full.get("sum"), torch::full({2}, 2.F)));
}
