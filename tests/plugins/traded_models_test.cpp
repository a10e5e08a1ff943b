// The built-in models with recomputed segments and offloaded tensors against the plain step: five updates each.
#include <doctest/doctest.h>

#include "convnet/convnet.hpp"
#include "engine/fixtures.hpp"
#include "fixtures/components.hpp"
#include "gpt/gpt.hpp"
#include "mlp/mlp.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::tests;

/// Values made from the index: images [8, 8] or rows of six tokens.
class Samples : public Dataset {
 public:
  explicit Samples(bool tokens) : tokens_(tokens) {}
  std::int64_t size() const override { return 60; }
  Fingerprint fingerprint() const override { return "samples"; }
  DataFacts facts() const override {
    if (tokens_) return {{{"input", "int64", {6}, 11}, {"target", "int64", {6}, 11}}};
    return {{{"input", "float32", {8, 8}}, {"target", "int64", {}, 3}}};
  }
  void read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng&) const override {
    if (!tokens_) {
      auto* pixels = into.field("input", at::kFloat, {8, 8}).mutable_data_ptr<float>();
      auto* labels = into.field("target", at::kLong, {}).mutable_data_ptr<std::int64_t>();
      for (const auto index : indices) {
        SampleRng rng = SampleRng(7, 0).of(index);
        for (int i = 0; i < 64; ++i) *pixels++ = static_cast<float>(rng.uniform());
        *labels++ = index % 3;
      }
      return;
    }
    auto* input = into.field("input", at::kLong, {6}).mutable_data_ptr<std::int64_t>();
    auto* target = into.field("target", at::kLong, {6}).mutable_data_ptr<std::int64_t>();
    for (const auto index : indices)
      for (std::int64_t i = 0; i < 6; ++i) {
        *input++ = (index * 3 + i * i) % 11;
        *target++ = (index * 5 + i) % 11;
      }
  }

 private:
  bool tokens_;
};

struct Trades : Strategy {
  Trades(std::vector<std::string> recomputed, std::vector<std::string> offloaded)
      : recompute(std::move(recomputed)), offload(std::move(offloaded)) {}
  void edit(PlanEditor& editor) override {
    if (!recompute.empty()) editor.recompute(recompute);
    if (!offload.empty()) editor.offload(offload, 256);
  }
  std::vector<std::string> recompute, offload;
};

std::unique_ptr<Model> make(const std::string& name, test::Lender& lender) {
  torch::manual_seed(5);
  if (name == "mlp") {
    Options options = test::defaults<plugins::Mlp>();
    options.set("hidden", std::vector<std::int64_t>{32, 32, 32});
    options.set("dropout", 0.2);
    return std::make_unique<plugins::Mlp>(options, lender.context("model"));
  }
  if (name == "convnet") {
    Options options = test::defaults<plugins::Convnet>();
    options.set("channels", std::vector<std::int64_t>{8, 16, 16});
    options.set("norm", std::string("batch"));
    options.set("dropout", 0.2);
    return std::make_unique<plugins::Convnet>(options, lender.context("model"));
  }
  Options options = test::defaults<plugins::Gpt>();
  options.set("depth", std::int64_t{3});
  options.set("width", std::int64_t{16});
  options.set("heads", std::int64_t{2});
  options.set("dropout", 0.2);
  return std::make_unique<plugins::Gpt>(options, lender.context("model"));
}

/// Weights and buffers after five updates of three micro-batches of four.
at::Tensor trained(const std::string& name, Trades&& trades) {
  const Samples data(name == "gpt");
  test::Lender lender{data.facts()};
  const auto model = make(name, lender);
  Bench bench(*model, data);
  bench.micro(4);
  bench.parts.settings.batch_size = 12;
  bench.parts.settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
  bench.parts.settings.optimizer.lr = 0.003;
  bench.parts.strategies.push_back({"strategy.trades", &trades});
  CHECK(bench.run().progress.update == 5);
  std::vector<at::Tensor> parts;
  for (const auto& list : {model->parameters(), model->buffers()})
    for (const auto& entry : list) parts.push_back(entry.tensor.detach().flatten().to(at::kDouble));
  return at::cat(parts);
}

}  // namespace

TEST_CASE("C18: mlp, convnet with BatchNorm and gpt, all with dropout: traded activations give the plain step's bits") {
  using Policy = std::vector<std::string>;
  for (const char* const name : {"mlp", "convnet", "gpt"}) {
    const at::Tensor plain = trained(name, Trades({}, {}));
    for (const Policy& recompute : {Policy{}, Policy{"all"}, Policy{"every:2"}, Policy{"largest:1"}, Policy{"*.0"}})
      for (const Policy& offload : {Policy{}, Policy{"all"}, Policy{"every:2"}}) {
        CAPTURE(name);
        CHECK(at::equal(trained(name, Trades(recompute, offload)), plain));
      }
  }
}
