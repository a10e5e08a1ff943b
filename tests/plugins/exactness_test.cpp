// Every subset of the exact strategies against the plain step, for each built-in model: five updates, one printed
// table.
#include <doctest/doctest.h>

#include <cstdio>

#include "accumulate/accumulate.hpp"
#include "activation_checkpointing/activation_checkpointing.hpp"
#include "activation_offload/activation_offload.hpp"
#include "convnet/convnet.hpp"
#include "engine/fixtures.hpp"
#include "fixtures/components.hpp"
#include "gpt/gpt.hpp"
#include "mlp/mlp.hpp"
#include "optimizer_offload/optimizer_offload.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::tests;
using plan::OptimizerSettings;

enum : unsigned { kSplit = 1, kRecompute = 2, kOffload = 4, kMoments = 8, kSubsets = 16 };

/// Values made from the index: images [8, 8] or rows of six tokens.
class Samples : public Dataset {
 public:
  Samples(bool tokens, at::ScalarType dtype) : tokens_(tokens), dtype_(dtype) {}
  std::int64_t size() const override { return 40; }
  Fingerprint fingerprint() const override { return "samples"; }
  DataFacts facts() const override {
    if (tokens_) return {{{"input", "int64", {6}, 11}, {"target", "int64", {6}, 11}}};
    return {{{"input", dtype_ == at::kDouble ? "float64" : "float32", {8, 8}}, {"target", "int64", {}, 3}}};
  }
  void read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng&) const override {
    const at::Tensor input = tokens_ ? into.field("input", at::kLong, {6}) : into.field("input", dtype_, {8, 8});
    const at::Tensor target =
        tokens_ ? into.field("target", at::kLong, {6}) : into.field("target", at::kLong, at::IntArrayRef{});
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const std::int64_t index = indices[row];
      const at::Tensor in = input[static_cast<std::int64_t>(row)], out = target[static_cast<std::int64_t>(row)];
      const at::Tensor steps = at::arange(tokens_ ? 6 : 64, at::kLong);
      in.copy_(tokens_ ? (steps * steps + index * 3) % 11
                       : (((steps * 7 + index * 5) % 23).to(dtype_) / 23).view({8, 8}));
      out.copy_(tokens_ ? (steps + index * 5) % 11 : at::scalar_tensor(index % 3, at::kLong));
    }
  }

 private:
  bool tokens_;
  at::ScalarType dtype_;
};

/// `coupled`: with dropout, and BatchNorm where the model has it; otherwise any split of a batch is the same.
std::unique_ptr<Model> make(const std::string& name, bool coupled, at::ScalarType dtype, test::Lender& lender) {
  torch::manual_seed(5);
  std::unique_ptr<Model> model;
  const auto with = [&](Options options) {
    options.set("dropout", coupled ? 0.2 : 0.0);
    return options;
  };
  if (name == "mlp") {
    Options options = with(test::defaults<plugins::Mlp>());
    options.set("hidden", std::vector<std::int64_t>{24, 24});
    model = std::make_unique<plugins::Mlp>(options, lender.context("model"));
  } else if (name == "convnet") {
    Options options = with(test::defaults<plugins::Convnet>());
    options.set("channels", std::vector<std::int64_t>{8, 8});
    options.set("norm", std::string(coupled ? "batch" : "group"));
    model = std::make_unique<plugins::Convnet>(options, lender.context("model"));
  } else {
    Options options = with(test::defaults<plugins::Gpt>());
    options.set("depth", std::int64_t{2});
    options.set("width", std::int64_t{16});
    options.set("heads", std::int64_t{2});
    model = std::make_unique<plugins::Gpt>(options, lender.context("model"));
  }
  for (const auto& list : {model->parameters(), model->buffers()})
    for (const auto& entry : list)
      if (entry.tensor.is_floating_point()) at::Tensor(entry.tensor).set_data(entry.tensor.to(dtype));
  return model;
}

struct Chosen {
  explicit Chosen(unsigned subset) {
    test::Lender lender;
    const auto add = [&](unsigned bit, const char* table, auto make_it) {
      if (subset & bit) owned.push_back(make_it()), named.push_back({table, owned.back().get()});
    };
    add(kSplit, "strategy.accumulate", [&] {
      Options options;
      options.set("micro_batch_size", std::int64_t{3});
      return std::make_unique<plugins::Accumulate>(options, lender.context("strategy.accumulate"));
    });
    add(kRecompute, "strategy.activation_checkpointing", [&] {
      return std::make_unique<plugins::ActivationCheckpointing>(test::defaults<plugins::ActivationCheckpointing>(),
                                                                lender.context(""));
    });
    add(kOffload, "strategy.activation_offload", [&] {
      Options options = test::defaults<plugins::ActivationOffload>();
      options.set("min_bytes", Bytes{64});
      return std::make_unique<plugins::ActivationOffload>(options, lender.context(""));
    });
    add(kMoments, "strategy.optimizer_offload",
        [&] { return std::make_unique<plugins::OptimizerOffload>(Options{}, lender.context("")); });
  }
  std::vector<std::unique_ptr<Strategy>> owned;
  std::vector<engine::NamedStrategy> named;
};

/// Weights and buffers after five updates of eight samples.
at::Tensor trained(const std::string& name, unsigned subset, bool coupled, OptimizerSettings::Name optimizer) {
  const at::ScalarType dtype = optimizer == OptimizerSettings::Name::kAdamw ? at::kDouble : at::kFloat;
  const Samples data(name == "gpt", dtype);
  test::Lender lender{data.facts()};
  const auto model = make(name, coupled, dtype, lender);
  const Chosen chosen(subset);
  Bench bench(*model, data);
  bench.parts.strategies = chosen.named;
  auto& settings = bench.parts.settings;
  settings.batch_size = 8;
  settings.optimizer.name = optimizer;
  settings.optimizer.lr = optimizer == OptimizerSettings::Name::kAdamw ? 0.003 : 0.05;
  settings.optimizer.momentum = 0.9;
  engine::Trainer trainer(bench.parts);
  CHECK(trainer.run().progress.update == 5);
  CHECK(trainer.step_plan().micro_batch_size.value == (subset & kSplit ? 3 : 0));
  CHECK(trainer.step_plan().recompute.value.empty() == !(subset & kRecompute));
  CHECK(trainer.step_plan().offload.value.empty() == !(subset & kOffload));
  CHECK((trainer.step_plan().optimizer_placement.value == Placement::kHost) == ((subset & kMoments) != 0));
  std::vector<at::Tensor> parts;
  for (const auto& list : {model->parameters(), model->buffers()})
    for (const auto& entry : list) parts.push_back(entry.tensor.detach().flatten().to(at::kDouble));
  return at::cat(parts);
}

std::string name_of(unsigned subset) {
  std::string text;
  const std::pair<unsigned, const char*> names[] = {{kSplit, "accumulate"},
                                                    {kRecompute, "activation_checkpointing"},
                                                    {kOffload, "activation_offload"},
                                                    {kMoments, "optimizer_offload"}};
  for (const auto& [bit, name] : names)
    if (subset & bit) text += (text.empty() ? "" : " + ") + std::string(name);
  return text.empty() ? "plain, again" : text;
}

/// One cell of the table: "same bits", or the distance from the plain step.
std::string compared(const std::string& model, unsigned subset, OptimizerSettings::Name optimizer) {
  const bool split = (subset & kSplit) != 0;
  const at::Tensor plain = trained(model, 0, !split, optimizer), mine = trained(model, subset, !split, optimizer);
  CHECK(mine.isfinite().all().item<bool>());
  const double off = ((mine - plain).norm() / plain.norm()).item<double>();
  if (split) {
    CHECK(off <= (optimizer == OptimizerSettings::Name::kSgd ? 1e-6 : 1e-9));
    // Whatever else is chosen costs no bit beyond the split.
    CHECK(at::equal(mine, trained(model, kSplit, false, optimizer)));
  } else {
    CHECK(at::equal(mine, plain));
  }
  if (at::equal(mine, plain)) return "same bits";
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", off);
  return text;
}

}  // namespace

TEST_CASE("every subset of exact strategies gives the plain step's update, for mlp, convnet and gpt") {
  at::set_num_threads(1);  // of small tensors; more threads would wait for each other on a busy machine
  std::string table =
      "five updates against the plain step; with dropout (and BatchNorm) where the micro-batch stays\n"
      "| model | strategies | SGD float32 | AdamW float64 |\n|---|---|---|---|\n";
  for (const char* const model : {"mlp", "convnet", "gpt"}) {
    const at::Tensor start = trained(model, 0, true, OptimizerSettings::Name::kSgd);
    CHECK_FALSE(at::equal(start, trained(model, 0, false, OptimizerSettings::Name::kSgd)));  // dropout acts
    for (unsigned subset = 0; subset < kSubsets; ++subset) {
      const std::string strategies = name_of(subset);
      CAPTURE(model);
      CAPTURE(strategies);
      table += "| " + std::string(model) + " | " + strategies + " | " +
               compared(model, subset, OptimizerSettings::Name::kSgd) + " | " +
               compared(model, subset, OptimizerSettings::Name::kAdamw) + " |\n";
    }
  }
  std::printf("%s", table.c_str());
}
