// The convnet plugin's model: names, shapes, initial values, every option's arithmetic, segments, errors.
#include "convnet/convnet.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include "fixtures/components.hpp"
#include "fixtures/named_segments.hpp"

namespace {

using holdfast::Batch;
using holdfast::Options;
using holdfast::plugins::Convnet;
using holdfast::test::defaults;
using holdfast::test::Lender;
using holdfast::test::NamedSegments;
using holdfast::test::told;

holdfast::DataFacts images(std::vector<std::int64_t> shape, const std::string& dtype = "float32") {
  return {{{"input", dtype, std::move(shape), 0}, {"target", "int64", {}, 10}}};
}

Batch batch_of(std::vector<std::int64_t> shape, at::ScalarType type = at::kFloat) {
  Batch batch;
  batch.fields = {{"input", torch::rand(shape, type)}, {"target", torch::zeros({shape[0]}, torch::kLong)}};
  for (std::int64_t i = 0; i < shape[0]; ++i) batch.samples.push_back({i, i});
  return batch;
}

Options with(std::initializer_list<std::pair<const char*, holdfast::OptionValue>> values) {
  Options options = defaults<Convnet>();
  for (const auto& [name, value] : values) options.set(name, value);
  return options;
}

using Ints = std::vector<std::int64_t>;
std::string text(const char* word) { return word; }

at::Tensor output(Convnet& model, const Batch& batch) {
  NamedSegments idle(false);
  return model.forward(batch, idle).get("output");
}

std::string names(const holdfast::NamedTensors& tensors) {
  std::string all;
  for (const auto& entry : tensors) all += entry.name + " ";
  return all;
}

}  // namespace

TEST_CASE("A convnet has the names, shapes and initial values of the same modules made by hand") {
  Lender lender{images({3, 12, 8})};
  torch::manual_seed(3);
  Convnet model(with({{"channels", Ints{4, 6}}, {"kernel", std::int64_t{5}}, {"hidden", Ints{7}}}),
                lender.context("model"));
  torch::manual_seed(3);
  torch::nn::Sequential plain;
  plain->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 4, 5).padding(2).bias(false)));
  plain->push_back(torch::nn::BatchNorm2d(4));
  plain->push_back(torch::nn::ReLU());
  plain->push_back(torch::nn::MaxPool2d(2));
  plain->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 6, 5).padding(2).bias(false)));
  plain->push_back(torch::nn::BatchNorm2d(6));
  plain->push_back(torch::nn::ReLU());
  plain->push_back(torch::nn::MaxPool2d(2));
  plain->push_back(torch::nn::Flatten());
  plain->push_back(torch::nn::Linear(6 * 3 * 2, 7));
  plain->push_back(torch::nn::ReLU());
  plain->push_back(torch::nn::Linear(7, 10));
  const auto actual = model.parameters();
  const auto expected = plain->parameters();
  CHECK(names(actual) ==
        "block.0.conv.weight block.0.norm.weight block.0.norm.bias block.1.conv.weight block.1.norm.weight "
        "block.1.norm.bias head.0.weight head.0.bias head.1.weight head.1.bias ");
  CHECK(names(model.buffers()) ==
        "block.0.norm.running_mean block.0.norm.running_var block.0.norm.num_batches_tracked "
        "block.1.norm.running_mean block.1.norm.running_var block.1.norm.num_batches_tracked ");
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) CHECK(torch::equal(actual[i].tensor, expected[i]));
  const Batch batch = batch_of({5, 3, 12, 8});
  const at::Tensor ours = output(model, batch), theirs = plain->forward(batch.fields[0].tensor);
  CHECK(ours.sizes() == at::IntArrayRef({5, 10}));
  CHECK(torch::allclose(ours, theirs, 1e-5, 1e-6));
  ours.square().sum().backward();
  theirs.square().sum().backward();
  for (std::size_t i = 0; i < actual.size(); ++i)
    CHECK(torch::allclose(actual[i].tensor.grad(), expected[i].grad(), 1e-4, 1e-5));
  const auto buffers = model.buffers();
  const auto theirs_after = plain->buffers();
  for (std::size_t i = 0; i < buffers.size(); ++i) CHECK(torch::allclose(buffers[i].tensor, theirs_after[i]));
}

TEST_CASE("Every norm, activation, pool and head computes what its name says") {
  Lender lender{images({6, 6})};
  const Batch batch = batch_of({3, 6, 6});
  const at::Tensor x = batch.fields[0].tensor.unsqueeze(1);
  for (const std::string norm : {"batch", "group", "none"})
    for (const std::string activation : {"relu", "gelu", "silu", "tanh"})
      for (const std::string pool : {"max", "average", "none"})
        for (const std::string head : {"flatten", "average"}) {
          CAPTURE(norm + " " + activation + " " + pool + " " + head);
          Options options =
              with({{"channels", Ints{4}}, {"norm", norm}, {"activation", activation}, {"pool", pool}, {"head", head}});
          if (norm == "group") options.set("groups", std::int64_t{2});
          Convnet model(options, lender.context("model"));
          const auto p = model.parameters();
          const bool plain = norm == "none";
          at::Tensor h = torch::conv2d(x, p[0].tensor, plain ? p[1].tensor : at::Tensor(), 1, 1);
          if (norm == "batch") h = torch::batch_norm(h, p[1].tensor, p[2].tensor, {}, {}, true, 0.1, 1e-5, false);
          if (norm == "group") h = torch::group_norm(h, 2, p[1].tensor, p[2].tensor);
          if (activation == "relu") h = torch::relu(h);
          if (activation == "gelu") h = torch::gelu(h);
          if (activation == "silu") h = torch::silu(h);
          if (activation == "tanh") h = torch::tanh(h);
          if (pool == "max") h = torch::max_pool2d(h, {2, 2});
          if (pool == "average") h = torch::avg_pool2d(h, {2, 2});
          h = head == "average" ? h.mean({2, 3}) : h.flatten(1);
          const std::size_t last = p.size() - 2;
          CHECK(p[last].name == "head.0.weight");
          CHECK(
              torch::allclose(output(model, batch), torch::linear(h, p[last].tensor, p[last + 1].tensor), 1e-4, 1e-5));
        }
}

TEST_CASE("ReLU before or after the largest of four gives the same bits, and the same gradient bits") {
  const at::Tensor x = torch::randn({4, 3, 8, 8});
  x[0].fill_(-1);  // ties among what ReLU makes zero
  x[1].fill_(0);
  const auto gradient = [&](bool pool_first) {
    const at::Tensor leaf = x.clone().requires_grad_(true);
    const at::Tensor y =
        pool_first ? torch::relu(torch::max_pool2d(leaf, {2, 2})) : torch::max_pool2d(torch::relu(leaf), {2, 2});
    (y * torch::arange(y.numel()).view_as(y)).sum().backward();
    return std::pair(y.detach(), leaf.grad());
  };
  const auto [first, first_grad] = gradient(true);
  const auto [second, second_grad] = gradient(false);
  CHECK(torch::equal(first, second));
  CHECK(torch::equal(first_grad, second_grad));
}

TEST_CASE("A convnet marks one segment a block when segments are active, with the same output") {
  Lender lender{images({8, 8})};
  Convnet model(with({{"norm", text("group")}}), lender.context("model"));
  const Batch batch = batch_of({4, 8, 8});
  NamedSegments active(true), idle(false);
  CHECK(torch::equal(model.forward(batch, active).get("output"), model.forward(batch, idle).get("output")));
  CHECK(active.names == "block.0 block.1 ");
  CHECK(idle.names.empty());
}

TEST_CASE("A convnet says that BatchNorm couples samples, that dropout draws numbers, and nothing else") {
  Lender lender{images({8, 8})};
  const auto traits = [&](const Options& options) { return Convnet(options, lender.context("model")).traits(); };
  CHECK(traits(with({})).batch_coupled);
  CHECK(traits(with({})).has_segments);
  CHECK_FALSE(traits(with({})).draws_random);
  for (const char* norm : {"group", "none"}) CHECK_FALSE(traits(with({{"norm", text(norm)}})).batch_coupled);
  CHECK(traits(with({{"dropout", 0.5}})).draws_random);
}

TEST_CASE("In evaluation a convnet uses its running statistics, leaves them alone and drops nothing") {
  Lender lender{images({8, 8})};
  Convnet model(with({{"channels", Ints{4}}, {"dropout", 0.5}}), lender.context("model"));
  const Batch batch = batch_of({6, 8, 8}), one = batch_of({1, 8, 8});
  CHECK_FALSE(torch::equal(output(model, batch), output(model, batch)));  // dropout
  const at::Tensor mean = model.buffers().get("block.0.norm.running_mean").clone();
  CHECK(mean.abs().sum().item<double>() > 0);
  model.train(false);
  const at::Tensor evaluated = output(model, batch);
  CHECK(torch::equal(evaluated, output(model, batch)));
  CHECK(torch::equal(model.buffers().get("block.0.norm.running_mean"), mean));
  Batch first = one;
  first.fields[0].tensor = batch.fields[0].tensor.slice(0, 0, 1);
  CHECK(torch::allclose(output(model, first), evaluated.slice(0, 0, 1), 1e-5, 1e-6));  // no sample sees another
  model.train(true);
  CHECK_FALSE(torch::equal(output(model, batch), output(model, batch)));
  CHECK_FALSE(torch::equal(model.buffers().get("block.0.norm.running_mean"), mean));
}

TEST_CASE("float64 data makes a float64 convnet") {
  Lender lender{images({1, 4, 4}, "float64")};
  Convnet model(defaults<Convnet>(), lender.context("model"));
  CHECK(at::toString(output(model, batch_of({2, 1, 4, 4}, at::kDouble)).scalar_type()) == std::string("Double"));
}

TEST_CASE("A convnet says in one sentence what does not fit its data") {
  Lender lender;
  const auto refused = [&](const Options& options) { return told([&] { Convnet(options, lender.context("model")); }); };
  CHECK(refused(with({})) ==
        "78 model: error[model.no_input]: convnet needs a field 'input', but the training data set has none");
  lender.facts = images({8, 8}, "int64");
  CHECK(refused(with({})) ==
        "78 model: error[model.input_dtype]: convnet takes float32 or float64, but the data set's field 'input' is "
        "int64");
  for (const Ints& shape : {Ints{64}, Ints{2, 3, 8, 8}}) {
    lender.facts = images(shape);
    CHECK(
        refused(with({})) ==
        "78 model: error[model.input_shape]: convnet takes images of [height, width] or [channels, height, width], but "
        "a sample's field 'input' has the shape " +
            text(shape.size() == 1 ? "[64]" : "[2, 3, 8, 8]") +
            "\n  hint: use the model mlp, which flattens any shape, or another data set");
  }
  lender.facts = images({0, 8, 8});
  CHECK(refused(with({})) ==
        "78 model: error[model.no_input]: convnet needs at least one pixel, but a sample's field 'input' has the shape "
        "[0, 8, 8]");
  lender.facts = images({8, 8});
  lender.facts.fields[1].classes = 0;
  CHECK(
      refused(with({})) ==
      "78 model: error[model.no_classes]: the training data set does not say how many classes its field 'target' has\n"
      "  hint: use a data set that does, or set its option for the number of classes");
}

TEST_CASE("A convnet says in one sentence which of its options contradict each other") {
  Lender lender{images({3, 28, 7})};
  const auto refused = [&](const Options& options) { return told([&] { Convnet(options, lender.context("model")); }); };
  CHECK(
      refused(with({{"kernel", std::int64_t{4}}})) ==
      "78 model: error[model.even_kernel]: convnet keeps the size of an image, which takes an odd kernel: got kernel = "
      "4\n  hint: write kernel = 3 or kernel = 5");
  CHECK(refused(with({{"groups", std::int64_t{4}}})) ==
        "78 model: error[model.unused_option]: 'groups' is for norm = \"group\" only: got norm = \"batch\"\n"
        "  hint: remove groups or change the norm");
  CHECK(refused(with({{"norm", text("group")}, {"channels", Ints{32, 20}}})) ==
        "78 model: error[model.groups]: GroupNorm needs channels that its groups divide: got 20 channels in 8 groups\n"
        "  hint: set `groups` to a divisor of every one of channels = [32, 20]");
  const Ints three{8, 8, 8};
  CHECK(
      refused(with({{"channels", three}})) ==
      "78 model: error[model.too_many_pools]: each of the 3 blocks halves the image, but images of 28×7 pixels can be "
      "halved 2 times\n  hint: shorten `channels` or write pool = \"none\"");
  CHECK(refused(with({{"channels", three}, {"pool", text("none")}})) == "no error");
  lender.facts = images({2, 2});
  CHECK(refused(with({})) ==
        "78 model: error[model.too_many_pools]: each of the 2 blocks halves the image, but images of 2×2 pixels can be "
        "halved 1 time\n  hint: shorten `channels` or write pool = \"none\"");
}

TEST_CASE("A BatchNorm that sees one value a channel says so; in evaluation one value is enough") {
  Lender lender{images({2, 2})};
  Convnet model(with({{"channels", Ints{4}}, {"pool", text("none")}}), lender.context("model"));
  CHECK(output(model, batch_of({1, 2, 2})).size(0) == 1);  // four values a channel
  lender.facts = images({1, 1});
  Convnet point(with({{"channels", Ints{4}}, {"pool", text("none")}}), lender.context("model"));
  CHECK(
      told([&] { output(point, batch_of({1, 1, 1})); }) ==
      "78 model: error[model.one_value]: BatchNorm needs more than one value a channel in training, but this "
      "micro-batch is one sample of one pixel at this depth\n  hint: write norm = \"group\", use larger micro-batches, "
      "or set dataset.train.drop_last = true");
  CHECK(output(point, batch_of({2, 1, 1})).size(0) == 2);
  point.train(false);
  CHECK(output(point, batch_of({1, 1, 1})).size(0) == 1);
}
