// The gpt plugin's model: names and shapes, initial values, causality, segments, dropout, splits of a window, errors.
#include "gpt/gpt.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cmath>

#include "fixtures/components.hpp"
#include "fixtures/named_segments.hpp"

namespace {

using holdfast::Batch;
using holdfast::DataFacts;
using holdfast::NamedTensors;
using holdfast::Options;
using holdfast::plugins::Gpt;
using holdfast::test::defaults;
using holdfast::test::Lender;
using holdfast::test::NamedSegments;
using holdfast::test::told;

constexpr std::int64_t kVocabulary = 11, kContext = 6;

DataFacts tokens(std::int64_t vocabulary = kVocabulary, std::int64_t context = kContext) {
  return {{{"input", "int64", {context}, vocabulary}, {"target", "int64", {context}, vocabulary}}};
}

Options with(std::int64_t depth, std::int64_t width, std::int64_t heads, double dropout = 0, bool tied = true) {
  Options options = defaults<Gpt>();
  options.set("depth", depth);
  options.set("width", width);
  options.set("heads", heads);
  options.set("dropout", dropout);
  options.set("tied", tied);
  return options;
}

Batch batch_of(std::int64_t samples, std::int64_t length = kContext) {
  Batch batch;
  batch.fields = {{"input", torch::randint(kVocabulary, {samples, length}, torch::kLong)},
                  {"target", torch::randint(kVocabulary, {samples, length}, torch::kLong)}};
  for (std::int64_t i = 0; i < samples; ++i) batch.samples.push_back({i, i});
  return batch;
}

at::Tensor logits(Gpt& model, const Batch& batch) {
  NamedSegments segments(false);
  return model.forward(batch, segments).get("output");
}

Batch rows(const Batch& batch, std::int64_t first, std::int64_t count) {
  Batch part;
  for (const auto& [name, tensor] : batch.fields) part.fields.push_back({name, tensor.narrow(0, first, count)});
  for (std::int64_t i = first; i < first + count; ++i)
    part.samples.push_back(batch.samples[static_cast<std::size_t>(i)]);
  return part;
}

/// The gradient of the window's loss, divided by its weight, from micro-batches of this size.
std::vector<at::Tensor> gradients(Gpt& model, const Batch& window, std::int64_t micro_batch) {
  const double weight = model.weight(window);
  for (auto& [name, tensor] : model.parameters()) tensor.mutable_grad().reset();
  for (std::int64_t at = 0; at < window.fields[0].tensor.size(0); at += micro_batch) {
    const Batch part = rows(window, at, micro_batch);
    NamedSegments segments(false);
    (model.loss(model.forward(part, segments), part) / weight).backward();
  }
  std::vector<at::Tensor> found;
  for (const auto& [name, tensor] : model.parameters()) found.push_back(tensor.grad());
  return found;
}

std::string shape_list(const NamedTensors& list) {
  std::ostringstream text;
  for (const auto& [name, tensor] : list) text << name << " " << tensor.sizes() << "\n";
  return text.str();
}

}  // namespace

TEST_CASE("Parameters have PyTorch-like names, and the tied embedding stands once") {
  Lender lender{tokens()};
  Gpt model(with(1, 8, 2), lender.context("model"));
  const std::string tied =
      "token.weight [11, 8]\nposition.weight [6, 8]\n"
      "block.0.norm1.weight [8]\nblock.0.norm1.bias [8]\n"
      "block.0.attention.qkv.weight [24, 8]\nblock.0.attention.qkv.bias [24]\n"
      "block.0.attention.proj.weight [8, 8]\nblock.0.attention.proj.bias [8]\n"
      "block.0.norm2.weight [8]\nblock.0.norm2.bias [8]\n"
      "block.0.mlp.fc1.weight [32, 8]\nblock.0.mlp.fc1.bias [32]\n"
      "block.0.mlp.fc2.weight [8, 32]\nblock.0.mlp.fc2.bias [8]\n"
      "norm.weight [8]\nnorm.bias [8]\n";
  CHECK(shape_list(model.parameters()) == tied);
  CHECK(model.buffers().empty());
  CHECK(shape_list(Gpt(with(1, 8, 2, 0, false), lender.context("model")).parameters()) ==
        tied + "head.weight [11, 8]\n");
}

TEST_CASE("The tied embedding gets gradient from both of its uses") {
  Lender lender{tokens()};
  torch::manual_seed(1);
  Gpt model(with(1, 8, 2), lender.context("model"));
  Batch batch = batch_of(1);
  batch.fields[0].tensor.fill_(3);  // only token 3 is looked up; the output layer has them all
  const at::Tensor grad = gradients(model, batch, 1)[0];
  CHECK(grad[5].abs().sum().item<double>() > 0);
  Gpt untied(with(1, 8, 2, 0, false), lender.context("model"));
  const auto apart = gradients(untied, batch, 1);
  CHECK(apart[0][5].abs().sum().item<double>() == 0);
  CHECK(apart[0][3].abs().sum().item<double>() > 0);
  CHECK(apart.back()[5].abs().sum().item<double>() > 0);
}

TEST_CASE("Initial values are those of GPT-2") {
  constexpr std::int64_t kDepth = 3;
  Lender lender{tokens(500, 64)};
  torch::manual_seed(4);
  Gpt model(with(kDepth, 96, 4, 0, false), lender.context("model"));
  for (const auto& [name, tensor] : model.parameters()) {
    CAPTURE(name);
    if (name.ends_with("bias")) {
      CHECK(torch::equal(tensor, torch::zeros_like(tensor)));
    } else if (name.find("norm") != std::string::npos) {
      CHECK(torch::equal(tensor, torch::ones_like(tensor)));
    } else {
      const bool residual = name.ends_with("proj.weight") || name.ends_with("fc2.weight");
      const double deviation = residual ? 0.02 / std::sqrt(2.0 * kDepth) : 0.02;
      const auto count = static_cast<double>(tensor.numel());  // 4 standard errors of mean and of deviation
      CHECK(std::abs(tensor.mean().item<double>()) < 4 * deviation / std::sqrt(count));
      CHECK(std::abs(tensor.std().item<double>() / deviation - 1) < 4 / std::sqrt(2 * count));
    }
  }
}

TEST_CASE("The first loss is that of guessing") {
  Lender lender{tokens()};
  torch::manual_seed(5);
  Gpt model(with(2, 32, 4), lender.context("model"));
  const Batch batch = batch_of(16);
  const double loss = model.loss({{"output", logits(model, batch)}}, batch).item<double>() / model.weight(batch);
  CHECK(loss == doctest::Approx(std::log(11.0)).epsilon(0.02));
}

TEST_CASE("A place sees itself and what lies before it, never what follows; order matters") {
  Lender lender{tokens()};
  torch::manual_seed(6);
  Gpt model(with(2, 16, 2), lender.context("model"));
  const Batch batch = batch_of(1);
  const at::Tensor before = logits(model, batch);
  Batch changed = batch;
  changed.fields[0].tensor = batch.fields[0].tensor.clone();
  changed.fields[0].tensor[0][3] = (batch.fields[0].tensor[0][3].item<std::int64_t>() + 1) % kVocabulary;
  const at::Tensor change = (logits(model, changed) - before).abs().sum(2)[0];
  for (std::int64_t t = 0; t < kContext; ++t) {
    CAPTURE(t);
    CHECK((change[t].item<double>() > 1e-7) == (t >= 3));
  }
  Batch same = batch_of(1);
  same.fields[0].tensor.fill_(2);
  const at::Tensor repeated = logits(model, same)[0];
  CHECK((repeated[0] - repeated[1]).abs().max().item<double>() > 1e-6);
}

TEST_CASE("A shorter row of tokens is allowed") {
  Lender lender{tokens()};
  Gpt model(with(1, 8, 2), lender.context("model"));
  const Batch batch = batch_of(2), start = {{{"input", batch.fields[0].tensor.narrow(1, 0, 4)}}, batch.samples};
  CHECK(torch::allclose(logits(model, start), logits(model, batch).narrow(1, 0, 4), 1e-4, 1e-6));
}

TEST_CASE("One segment a block when segments are active, and the same output") {
  Lender lender{tokens()};
  Gpt model(with(3, 8, 2), lender.context("model"));
  const Batch batch = batch_of(2);
  NamedSegments active(true);
  CHECK(torch::equal(model.forward(batch, active).get("output"), logits(model, batch)));
  CHECK(active.names == "block.0 block.1 block.2 ");
  CHECK(model.traits().has_segments);
  CHECK_FALSE(model.traits().batch_coupled);
}

TEST_CASE("A window of 8, as 1 × 8 or 4 × 2, gives an equal update, also where samples are masked unevenly") {
  Lender lender{tokens()};
  torch::manual_seed(7);
  Gpt model(with(2, 32, 4), lender.context("model"));
  Batch window = batch_of(8);
  for (std::int64_t n = 0; n < 8; ++n) window.fields[1].tensor[n].narrow(0, 0, n % 5).fill_(-100);
  const auto whole = gradients(model, window, 8), split = gradients(model, window, 2);
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    difference += (whole[i] - split[i]).square().sum().item<double>();
    size += whole[i].square().sum().item<double>();
  }
  CHECK(size > 1e-6);
  CHECK(std::sqrt(difference / size) < 1e-6);
}

TEST_CASE("Dropout acts in training only, follows the seed and shows in the traits") {
  Lender lender{tokens()};
  Gpt model(with(2, 16, 2, 0.3), lender.context("model"));
  CHECK(model.traits().draws_random);
  CHECK_FALSE(Gpt(with(2, 16, 2), lender.context("model")).traits().draws_random);
  const Batch batch = batch_of(4);
  const auto run = [&](std::uint64_t seed) {
    torch::manual_seed(seed);
    return logits(model, batch);
  };
  const auto first = run(1);
  CHECK(torch::equal(first, run(1)));
  CHECK_FALSE(torch::equal(first, run(2)));
  torch::manual_seed(3);
  const auto backward = gradients(model, batch, 4);
  torch::manual_seed(3);
  const auto again = gradients(model, batch, 4);
  for (std::size_t i = 0; i < backward.size(); ++i) CHECK(torch::equal(backward[i], again[i]));
  model.train(false);
  CHECK(torch::equal(run(1), run(2)));
  model.train(true);
  CHECK(torch::equal(first, run(1)));
}

TEST_CASE("C72: a token outside the vocabulary is refused before the embedding sees it, target or input") {
  Lender lender{tokens()};
  Gpt model(with(1, 8, 2), lender.context("model"));
  Batch batch = batch_of(3);
  CHECK(model.weight(batch) == 18);
  batch.fields[0].tensor[1][4] = 11;
  CHECK(told([&] { (void)model.weight(batch); }) ==
        "65 sample 1: error[data.label_range]: input token 11 lies outside 0..10, the range of the model's 11 tokens\n"
        "  hint: tokens count from 0");
  batch.fields[0].tensor[1][4] = -100;
  CHECK(
      told([&] { (void)model.weight(batch); }).starts_with("65 sample 1: error[data.label_range]: input token -100 "));
  batch.fields[0].tensor[1][4] = 0;
  batch.fields[1].tensor[2][0] = 12;
  CHECK(told([&] {
          (void)model.weight(batch);
        }).starts_with("65 sample 2: error[data.label_range]: target token 12 lies outside 0..10"));
}

TEST_CASE("Data that gpt cannot take, and a width that the heads do not divide, are refused in words") {
  Lender lender;
  const auto make = [&] { Gpt model(with(1, 8, 2), lender.context("model")); };
  CHECK(told(make) ==
        "78 model: error[model.no_input]: gpt needs a field 'input', but the training data set has none\n"
        "  hint: use a data set of tokens, as text is");
  lender.facts.fields = {{"input", "float32", {1, 28, 28}, 0}, {"target", "int64", {}, 10}};
  CHECK(told(make) ==
        "78 model: error[model.input_dtype]: gpt takes tokens as int64, but the data set's field 'input' is float32\n"
        "  hint: use a data set of tokens, as text is");
  lender.facts.fields = {{"input", "int64", {4, 4}, 10}, {"target", "int64", {4, 4}, 10}};
  CHECK(told(make) ==
        "78 model: error[model.input_shape]: gpt takes a row of tokens a sample, [context], but the data set's field "
        "'input' is [4, 4]");
  lender.facts.fields = {{"input", "int64", {4}, 10}, {"target", "int64", {}, 10}};
  CHECK(told(make) ==
        "78 model: error[model.target_shape]: gpt tells one token a place, so 'target' has the shape of 'input', but "
        "the data set's 'input' is [4] and its 'target' is []");
  lender.facts.fields = {{"input", "int64", {4}, 20}, {"target", "int64", {4}, 10}};
  CHECK(told(make) ==
        "78 model: error[model.vocabulary]: gpt has one vocabulary, but the data set's 'input' has 20 tokens and its "
        "'target' 10");
  lender.facts = tokens();
  CHECK(told([&] { Gpt model(with(1, 10, 4), lender.context("model")); }) ==
        "78 model: error[model.heads]: `width` must be a multiple of `heads`: got 10 and 4\n"
        "  hint: each head takes an equal share of the width");
}
