// Recomputed segments give the bits of the plain step, whatever lies in them.
#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include <array>

#include "device/allocator.hpp"
#include "device/domain_pool.hpp"
#include "engine/chain.hpp"
#include "engine/traded_segments.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

at::Tensor hidden(const at::Tensor& x, const at::Tensor& w) {
  return at::dropout(at::tanh(at::linear(x, w)), 0.3, true);
}

/// Three blocks with dropout; one weight in all of them and twice in the second.
ChainModel::Body shared(ChainModel& model) {
  const at::Tensor w = model.add("w", {6, 6}), v = model.add("v", {6, 6});
  return [w, v](const at::Tensor& in, Segments& segments) {
    at::Tensor x = segments.run("block.0", [w](const at::Tensor& h) { return hidden(h, w); }, in);
    x = segments.run("block.1", [w, v](const at::Tensor& h) { return hidden(hidden(hidden(h, w), v), w.t()); }, x);
    x = segments.run(
        "block.2", [w, v](const at::Tensor& h) { return at::sigmoid(hidden(h, v) + at::linear(h, w)); }, x);
    return at::linear(x, w);
  };
}

/// Two inputs, one of them an integer without gradient, two outputs of which one needs none.
ChainModel::Body several(ChainModel& model) {
  const at::Tensor table = model.add("table", {3, 6}), w = model.add("w", {6, 6});
  return [table, w](const at::Tensor& in, Segments& segments) {
    const auto out = segments.run_list("embed",
                                       [table](const std::vector<at::Tensor>& x) -> std::vector<at::Tensor> {
                                         const at::Tensor found = at::embedding(table, x[1]);
                                         return {at::tanh(found * x[0]), x[1] + 1};
                                       },
                                       {in, (in.select(1, 0) > 0).to(at::kLong), at::Tensor()});
    const at::Tensor y = segments.run("mix", [w](const at::Tensor& x) { return hidden(x, w).exp(); }, out[0]);
    return segments.run(
               "last", [w](const at::Tensor& x) { return at::linear(x, w).sin(); }, y) +
           out[1].unsqueeze(1) * y;
  };
}

/// A segment in a segment, a frozen one, one under no_grad and one that keeps a running state that it uses.
ChainModel::Body odd(ChainModel& model) {
  const at::Tensor w = model.add("w", {6, 6}), v = model.add("v", {6, 6});
  const at::Tensor frozen = at::randn({6, 6}), running = at::ones({6});
  model.states = {{"frozen", frozen}, {"running", running}};
  return [=](const at::Tensor& in, Segments& segments) {
    at::Tensor x = segments.run("frozen", [frozen](const at::Tensor& h) { return at::linear(h, frozen).tanh(); }, in);
    {
      const at::NoGradGuard no_grad;
      x = x + segments.run("blind", [w](const at::Tensor& h) { return hidden(h, w); }, x);
    }
    auto* all = &segments;
    x = segments.run(
        "outer",
        [w, v, all](const at::Tensor& h) {
          return all->run("outer.inner", [v](const at::Tensor& i) { return hidden(i, v).exp(); }, hidden(h, w));
        },
        x);
    x = segments.run(
        "state",
        [v, running](const at::Tensor& h) mutable {
          {
            const at::NoGradGuard no_grad;
            running.mul_(0.9).add_(h.detach().mean(0), 0.1);
          }
          return at::sigmoid(at::linear(h * running, v));
        },
        x);
    return segments.run("last", [w](const at::Tensor& h) { return at::linear(h, w); }, x);
  };
}

/// Blocks that begin or end with an operation in place, as C22 has them.
ChainModel::Body in_place(ChainModel& model) {
  const at::Tensor w = model.add("w", {6, 6});
  return [w](const at::Tensor& in, Segments& segments) {
    const auto norm = [w](const at::Tensor& h) {
      at::Tensor y = at::layer_norm(at::linear(h, w), {6});
      return y.relu_();
    };
    const at::Tensor x = segments.run("block.0", norm, in);
    return segments.run(
        "last", [w](const at::Tensor& h) { return at::linear(h, w); }, segments.run("block.1", norm, x));
  };
}

}  // namespace

TEST_CASE("C18 C20 C22: recomputed segments give the bits of the plain step") {
  for (const Build& build : std::initializer_list<Build>{shared, several, odd, in_place})
    for (const std::int64_t micro : {2, 6}) {
      const at::Tensor plain = ChainRun(build, {}, micro).state();
      CHECK_FALSE(at::equal(plain, ChainRun(build, {}, micro).model.flat()));  // it trains
      for (const char* const policy : {"*", "every:2", "largest:1", "largest:2", "*l*"}) {
        CAPTURE(policy);
        CHECK(at::equal(ChainRun(build, {policy}, micro).state(), plain));
      }
    }
}

TEST_CASE("a segment runs once more a micro-batch; the last only in the first forward, or where its name is given") {
  using Counts = std::array<int, 3>;
  const auto counts = [](std::vector<std::string> policy) {
    auto runs = std::make_shared<Counts>();
    const Build build = [runs](ChainModel& model) -> ChainModel::Body {
      const at::Tensor w = model.add("w", {6, 6});
      return [w, runs](const at::Tensor& in, Segments& segments) {
        at::Tensor x = in;
        for (std::size_t i = 0; i < 3; ++i)
          x = segments.run(
              "block." + std::to_string(i),
              [w, runs, i](const at::Tensor& h) {
                ++(*runs)[i];
                return hidden(h, w);
              },
              x);
        return x;
      };
    };
    ChainRun(build, std::move(policy)).state();  // twelve forwards
    return *runs;
  };
  CHECK(counts({}) == Counts{12, 12, 12});
  CHECK(counts({"*"}) == Counts{24, 24, 13});
  CHECK(counts({"every:2"}) == Counts{24, 12, 13});
  CHECK(counts({"largest:1"}) == Counts{13, 24, 13});  // the first has the batch as its input, which stays anyway
  CHECK(counts({"block.2"}) == Counts{12, 12, 24});
  CHECK(counts({"block.0", "block.1"}) == Counts{24, 24, 12});
}

TEST_CASE("a resumed run recomputes the segments that were found to be the largest, from its first forward on") {
  using Counts = std::array<int, 3>;
  const auto build = [](const std::shared_ptr<Counts>& runs) -> Build {
    return [runs](ChainModel& model) -> ChainModel::Body {
      const at::Tensor w = model.add("w", {6, 6});
      return [w, runs](const at::Tensor& in, Segments& segments) {
        at::Tensor x = in;
        for (std::size_t i = 0; i < 3; ++i)
          x = segments.run(
              "block." + std::to_string(i),
              [w, runs, i](const at::Tensor& h) {
                ++(*runs)[i];
                return i == 1 ? hidden(hidden(h, w), w) : hidden(h, w);
              },
              x);
        return x;
      };
    };
  };
  const auto run = [&](const std::vector<std::string>& policy, const base::StateView* from, ChainRun*& kept) {
    const auto runs = std::make_shared<Counts>();
    kept = new ChainRun(build(runs), policy, 6);
    kept->bench.parts.settings.epochs.reset();
    kept->bench.parts.settings.updates = from ? 4 : 2;
    engine::Trainer trainer(kept->bench.parts);
    if (from) trainer.restore(*from);
    trainer.run();
    return *runs;
  };
  ChainRun *first = nullptr, *second = nullptr, *third = nullptr;
  CHECK(run({"largest:1"}, nullptr, first) == Counts{3, 4, 3});  // all three in the first forward
  const std::unique_ptr<ChainRun> owner(first);
  CHECK(run({"largest:1"}, &first->bench.saver.last(), second) == Counts{2, 4, 2});
  CHECK(run({"largest:2"}, &first->bench.saver.last(), third) == Counts{3, 4, 3});  // another choice: measured anew
  delete second;
  delete third;
}

TEST_CASE("the second run stops at the last tensor that the backward pass wants, except the very first time") {
  auto ends = std::make_shared<int>();
  const Build build = [ends](ChainModel& model) -> ChainModel::Body {
    const at::Tensor w = model.add("w", {6, 6});
    return [w, ends](const at::Tensor& in, Segments& segments) {
      const at::Tensor x = segments.run(
          "block",
          [w, ends](const at::Tensor& h) {
            const at::Tensor y = at::linear(at::tanh(h * w.sum()), w);
            ++*ends;
            return y;
          },
          in);
      return segments.run("last", [](const at::Tensor& h) { return h.sin(); }, x);
    };
  };
  ChainRun(build, {"block"}).state();
  CHECK(*ends == 13);
}

TEST_CASE("saved tensors are not held between forward and backward, and are freed as the backward pass uses them") {
  device::install_allocator();
  auto& pool = device::pool_of(device::Domain::kDevice);
  const auto peak = [&](std::vector<std::string> policy) {
    const Build build = [](ChainModel& model) -> ChainModel::Body {
      const at::Tensor w = model.add("w", {6, 6});
      return [w](const at::Tensor& in, Segments& segments) {
        at::Tensor x = in.repeat({4000, 1});
        for (int i = 0; i < 8; ++i)
          x = segments.run(
              "block." + std::to_string(i), [w](const at::Tensor& h) { return hidden(hidden(h, w), w).sin().cos(); },
              x);
        return x;
      };
    };
    ChainRun run(build, std::move(policy));
    const auto before = pool.reading().allocated, outer = pool.open_peak();
    run.state();
    return pool.close_peak(outer) - before;
  };
  const auto plain = peak({}), traded = peak({"*"});
  CHECK(static_cast<double>(traded) < 0.5 * static_cast<double>(plain));
}

TEST_CASE("gradients of gradients and a second backward pass go through recomputed segments") {
  const auto twice = [](bool trade) {
    at::manual_seed(1);
    ChainModel model;
    const at::Tensor w = model.add("w", {4, 4}), x = at::randn({3, 4}).requires_grad_(true);
    StepPlan plan;
    if (trade) plan.recompute.value = {"block"};
    engine::TradedSegments segments(plan, model);
    Batch batch;
    at::Tensor y;
    {
      const auto scope = segments.begin(batch);
      y = segments.run("block", [w](const at::Tensor& h) { return at::tanh(at::linear(at::tanh(h), w)); }, x).sum();
      segments.end();
    }
    const auto first = torch::autograd::grad({y}, {x}, {}, /*retain_graph=*/true, /*create_graph=*/true);
    (first[0].square().sum() + y).backward();
    return at::cat({w.grad(), x.grad()});
  };
  CHECK(at::equal(twice(true), twice(false)));
}
