// Segments that cannot be run again are found and named; a failure on the way leaves nothing behind.
#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include "device/allocator.hpp"
#include "device/domain_pool.hpp"
#include "engine/chain.hpp"
#include "engine/composition.hpp"
#include "fixtures/components.hpp"

using namespace holdfast;
using namespace holdfast::tests;
using holdfast::test::told;

namespace {

using Block = std::function<at::Tensor(const at::Tensor&, const at::Tensor& w)>;

/// block.0 is the given one; two more follow.
Build around(Block block) {
  return [block](ChainModel& model) -> ChainModel::Body {
    const at::Tensor w = model.add("w", {6, 6});
    return [w, block](const at::Tensor& in, Segments& segments) {
      const at::Tensor first = at::linear(in, w);
      at::Tensor x = segments.run("block.0", [w, block](const at::Tensor& h) { return block(h, w); }, first);
      x = segments.run("block.1", [w](const at::Tensor& h) { return at::tanh(at::linear(h, w)); }, x);
      return segments.run("block.2", [w](const at::Tensor& h) { return at::linear(h, w).sum(0); }, x);
    };
  };
}

const std::string kHint =
    "\n  hint: a segment does the same each time: it takes random numbers from LibTorch's default generators alone, "
    "depends on no counter and changes no input; or leave it out of the strategy";

std::string fault(Block block, std::vector<std::string> policy = {"*"}) {
  ChainRun run(around(std::move(block)), std::move(policy));
  const at::Tensor before = run.model.flat();
  const std::string text = told([&] { run.bench.run(); });
  CHECK(at::equal(run.model.flat(), before));
  return text;
}

}  // namespace

TEST_CASE("C23: a segment whose second run saves other shapes is named with both") {
  auto calls = std::make_shared<int>();
  CHECK(fault([calls](const at::Tensor& x, const at::Tensor& w) {
          return at::tanh(at::linear(x.repeat({193, 1}).slice(0, 0, 386 - (*calls)++), w));
        }) ==
        "70 segment 'block.0': error[model.segment]: tensor 1 that it saves was Float [386, 6] at first and is Float "
        "[385, 6] when it runs again for the backward pass" +
            kHint);
}

TEST_CASE("another dtype, fewer tensors or more of them are named") {
  auto calls = std::make_shared<int>();
  CHECK(fault([calls](const at::Tensor& x, const at::Tensor& w) {
          return (*calls)++ ? x.to(at::kDouble).tanh().to(at::kFloat) * w.sum() : x.tanh().to(at::kFloat) * w.sum();
        }) ==
        "70 segment 'block.0': error[model.segment]: tensor 1 that it saves was Float [2, 6] at first and is Double "
        "[2, 6] when it runs again for the backward pass" +
            kHint);
  *calls = 0;
  CHECK(fault([calls](const at::Tensor& x, const at::Tensor&) { return (*calls)++ ? x.tanh() : x.tanh().tanh(); }) ==
        "70 segment 'block.0': error[model.segment]: the number of tensors that it saves was 2 at first and 1 when it "
        "ran again for the backward pass" +
            kHint);
  *calls = 0;
  CHECK(fault([calls](const at::Tensor& x, const at::Tensor&) { return (*calls)++ ? x.tanh().tanh() : x.tanh(); }) ==
        "70 segment 'block.0': error[model.segment]: the number of tensors that it saves was 1 at first and 2 when "
        "it ran again for the backward pass" +
            kHint);
}

TEST_CASE("C18: a segment that draws from a generator of its own is found, not trained with other masks") {
  const at::Generator own = at::make_generator<at::CPUGeneratorImpl>(5);
  CHECK(
      fault([own](const at::Tensor& x, const at::Tensor& w) { return at::linear(x, w).tanh() * at::rand({6}, own); }) ==
      "70 segment 'block.0': error[model.segment]: it gave other outputs when it ran again for the backward pass" +
          kHint);
}

TEST_CASE("C22: a segment that begins with an operation in place on its input is named") {
  CHECK(fault([](const at::Tensor& x, const at::Tensor& w) {
          at::Tensor in = x;
          return at::linear(in.relu_(), w);
        }) ==
        "70 segment 'block.0': error[model.segment]: it changes an input in place, so it cannot be run again for "
        "the backward pass" +
            kHint);
}

TEST_CASE("what the backward pass needs and someone changed in place is found, where autograd's own check is off") {
  // The segment changes a tensor that tanh saved.
  CHECK(
      fault([](const at::Tensor& x, const at::Tensor&) {
        at::Tensor y = x.tanh();
        const at::Tensor z = y * 1;
        const at::NoGradGuard no_grad;
        y.mul_(2);
        return z;
      })
          .starts_with("70 segment 'block.0': error[model.changed_in_place]: a tensor that the backward pass needs was "
                       "changed in place: it is at version "));
  // A weight is changed between forward and backward.
  CHECK(fault([](const at::Tensor& x, const at::Tensor& w) {
          const at::Tensor y = at::linear(x, w);
          y.register_hook([w](const at::Tensor&) {
            const at::NoGradGuard no_grad;
            at::Tensor alias = w;
            alias.mul_(1);
          });
          return y.tanh();
        }).find("error[model.changed_in_place]") != std::string::npos);
}

TEST_CASE("a gradient taken inside a segment is refused in words") {
  CHECK(fault([](const at::Tensor& x, const at::Tensor& w) {
          const at::Tensor y = at::linear(x, w).tanh();
          return x * torch::autograd::grad({y.sum()}, {w}, {}, true)[0].sum();
        }) ==
        "70 segment 'block.0': error[model.segment]: it takes a gradient inside its forward, so it cannot be run "
        "again for the backward pass" +
            kHint);
}

TEST_CASE("a segment that writes a large buffer is named with it") {
  ChainRun run(around([](const at::Tensor& x, const at::Tensor& w) { return at::linear(x, w); }), {"*"});
  const at::Tensor book = at::zeros({70000});
  run.model.states = {{"codebook", book}};
  const auto body = run.model.body;
  run.model.body = [body, book](const at::Tensor& in, Segments& segments) {
    return body(segments.run(
                    "write",
                    [book](const at::Tensor& x) {
                      at::Tensor alias = book;
                      alias.add_(1);
                      return x * 1;
                    },
                    in),
                segments);
  };
  CHECK(
      told([&] { run.bench.run(); }) ==
      "70 segment 'write': error[model.segment]: it changes the buffer 'codebook', which is too large to be kept for a "
      "second run" +
          kHint);
}

TEST_CASE("two segments of one name are refused") {
  const Build build = [](ChainModel& model) -> ChainModel::Body {
    const at::Tensor w = model.add("w", {6, 6});
    return [w](const at::Tensor& in, Segments& segments) {
      const auto block = [w](const at::Tensor& h) { return at::linear(h, w); };
      return segments.run("block", block, segments.run("block", block, in));
    };
  };
  ChainRun run(build, {"*"});
  CHECK(told([&] { run.bench.run(); }) ==
        "70 segment 'block': error[model.segment_name]: it runs twice in one forward, so its name tells nothing\n"
        "  hint: give each run of a segment its own name");
}

TEST_CASE("a pattern that no segment has is refused before the first update, with the names that there are") {
  CHECK(fault([](const at::Tensor& x, const at::Tensor& w) { return at::linear(x, w); }, {"blok.*"}) ==
        "78 strategy.trades: error[plan.segments]: 'blok.*' chooses no segment to recompute; those of the model are "
        "block.0, block.1, block.2\n  hint: name segments that the model has, or remove the table");
}

TEST_CASE("a model without segments and a strategy that needs them are refused before the run") {
  ChainRun run(around([](const at::Tensor& x, const at::Tensor& w) { return at::linear(x, w); }), {"*"});
  run.model.has_segments = false;
  CHECK(told([&] { engine::Trainer trainer(run.bench.parts); }) ==
        "78 strategy: error[plan.no_segments]: strategy.trades recomputes segments of the model, but the model "
        "marks none\n  hint: remove the table, or mark segments in the model's forward (Segments::run in "
        "holdfast/model.hpp)");
  run.trades.recompute.clear();
  run.trades.offload = {"every:2"};
  CHECK(
      told([&] { engine::Trainer trainer(run.bench.parts); })
          .starts_with("78 strategy: error[plan.no_segments]: strategy.trades offloads segments of the model, but the "
                       "model marks none\n"));
  run.trades.offload = {"all"};
  CHECK(told([&] { run.bench.run(); }) == "no error");  // all of forward needs no segments
}

TEST_CASE("memory that runs out at any allocation of a step leaves no trace, and all of it comes back") {
  device::install_allocator();
  auto& pool = device::pool_of(device::Domain::kDevice);
  const auto block = [](const at::Tensor& x, const at::Tensor& w) {
    return at::dropout(at::tanh(at::linear(x, w)), 0.3, true);
  };
  const at::Tensor undisturbed = ChainRun(around(block), {"*"}).state();
  int failed = 0;
  for (int n = 1;; ++n) {
    ChainRun run(around(block), {"*"});
    run.bench.parts.on_oom = {"retry", "save"};
    std::int64_t before = 0, after = 0;
    run.bench.hook.on_window = [&](const WindowReport& report, Requests&) {
      if (report.update == 2) {
        before = pool.reading().allocated;
        pool.refuse_after(n);
      }
      if (report.update == 3) after = pool.reading().allocated;
    };
    CHECK(at::equal(run.state(), undisturbed));
    const bool refused = !run.bench.hook.ooms.empty() && run.bench.hook.ooms[0].update == 3;
    pool.refuse_after(0);
    CHECK(after == before);
    if (!refused) break;
    ++failed;
    REQUIRE(run.bench.hook.ooms.size() == 1);
  }
  CHECK(failed > 60);
}
