// Recomputed segments under reduced precision: the second run casts, drops and remembers as the first did.
#include <doctest/doctest.h>

#include "engine/chain.hpp"
#include "engine/reduced.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

struct Trained {
  at::Tensor state, first_gradient;
};

Trained train(const Build& build, std::vector<std::string> recompute, Precision precision,
              std::vector<std::string> offload = {}) {
  ChainRun run(build, std::move(recompute), 2);
  Reduced reduced(precision, 0, scaling(256));
  run.trades.offload = std::move(offload);
  run.bench.parts.strategies.push_back({"strategy.amp", &reduced});
  struct Watch : Strategy {
    bool judges_gradients() const override { return true; }
    Verdict judge(const NamedTensors& gradients, const PhaseInfo&) override {
      std::vector<at::Tensor> parts;
      for (const auto& entry : gradients) parts.push_back(entry.tensor.detach().flatten().to(at::kDouble));
      if (!first.defined()) first = at::cat(parts).clone();
      return Verdict::kApply;
    }
    at::Tensor first;
  } watch;
  run.bench.parts.strategies.push_back({"strategy.watch", &watch});
  const at::Tensor state = run.state();
  return {state, watch.first};
}

/// Dropout 0.1 in each block, a weight in two blocks, so that the cache of casts has something to keep.
ChainModel::Body dropping(ChainModel& model) {
  const at::Tensor w = model.add("w", {6, 6}), v = model.add("v", {6, 6});
  return [w, v](const at::Tensor& in, Segments& segments) {
    at::Tensor x = in;
    for (int i = 0; i < 4; ++i)
      x = segments.run(
          "block." + std::to_string(i),
          [w, u = i % 2 ? v : w](const at::Tensor& h) {
            return at::dropout(at::tanh(at::linear(at::dropout(at::linear(h, w), 0.1, true), u)), 0.1, true);
          },
          x);
    return x;
  };
}

/// Integer inputs, a frozen embedding, every block a segment: no input of the first one requires a gradient.
ChainModel::Body frozen(ChainModel& model) {
  const at::Tensor table = at::randn({3, 6}), w = model.add("w", {6, 6}), v = model.add("v", {6, 6});
  model.states = {{"table", table}};
  return [table, w, v](const at::Tensor& in, Segments& segments) {
    at::Tensor x = at::embedding(table, (in > 0).sum(1).remainder(3));
    x = segments.run("block.0", [w](const at::Tensor& h) { return at::tanh(at::linear(h, w)); }, x);
    x = segments.run("block.1", [v](const at::Tensor& h) { return at::tanh(at::linear(h, v)); }, x);
    return segments.run("block.2", [w](const at::Tensor& h) { return at::linear(h, w); }, x);
  };
}

}  // namespace

TEST_CASE("C18: dropout under bf16 and fp16 gives the same bits whether segments are recomputed or not") {
  for (const Precision precision : {Precision::kBfloat16, Precision::kFloat16}) {
    const Trained plain = train(dropping, {}, precision);
    CHECK_FALSE(at::equal(plain.state, train(dropping, {}, Precision::kFull).state));  // the precision acts
    for (const char* const policy : {"*", "every:2", "block.3"}) {
      CAPTURE(policy);
      const Trained traded = train(dropping, {policy}, precision);
      CHECK(at::equal(traded.first_gradient, plain.first_gradient));
      CHECK(at::equal(traded.state, plain.state));
      CHECK(at::equal(train(dropping, {policy}, precision, {"all"}).state, plain.state));
    }
  }
}

TEST_CASE(
    "C20: behind a frozen embedding of integers every weight has the gradient of the plain step, also under amp") {
  const std::vector<std::string> all = {"block.0", "block.1", "block.2"};
  for (const Precision precision : {Precision::kFull, Precision::kBfloat16, Precision::kFloat16}) {
    const Trained plain = train(frozen, {}, precision), traded = train(frozen, all, precision);
    CHECK(plain.first_gradient.numel() == 72);
    CHECK((plain.first_gradient != 0).sum().item<std::int64_t>() > 60);
    CHECK(at::equal(traded.first_gradient, plain.first_gradient));
    CHECK(at::equal(traded.state, plain.state));
  }
}
