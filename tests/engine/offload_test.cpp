// Saved tensors that wait in the host domain: which ones, how they come back, and what that leaves of the bits.
#include "engine/offload.hpp"

#include <doctest/doctest.h>

#include "device/allocator.hpp"
#include "device/domain_pool.hpp"
#include "engine/chain.hpp"
#include "engine/traded_segments.hpp"
#include "fixtures/components.hpp"

using namespace holdfast;
using namespace holdfast::tests;
using holdfast::test::told;

namespace {

at::Tensor hidden(const at::Tensor& x, const at::Tensor& w) {
  return at::dropout(at::tanh(at::linear(x, w)), 0.3, true);
}

/// Four blocks, a weight shared, an input that is expanded, and integers saved.
ChainModel::Body blocks(ChainModel& model) {
  const at::Tensor w = model.add("w", {6, 6}), table = model.add("table", {3, 6});
  return [w, table](const at::Tensor& in, Segments& segments) {
    at::Tensor x = at::embedding(table, (in.select(1, 0) > 0).to(at::kLong)) + in;
    for (int i = 0; i < 4; ++i)
      x = segments.run(
          "block." + std::to_string(i),
          [w](const at::Tensor& h) {
            const auto parts = hidden(h.repeat({1, 3}), at::cat({w, w, w}, 1)).view({-1, 2, 3}).unbind(1);
            return hidden(at::cat({parts[0] * parts[1], parts[0].sum(1, true).expand({-1, 3}).exp()}, 1), w);
          },
          x);
    return x;
  };
}

/// What comes back of a tensor, and how many bytes went to the host.
struct Trip {
  at::Tensor back;
  std::int64_t sent;
};
Trip trip(const at::Tensor& tensor, std::int64_t min_bytes = 1, const NamedTensors& fixed_tensors = {}) {
  engine::FixedStorages fixed;
  fixed.add(fixed_tensors);
  engine::Offload offload(fixed);
  offload.begin(min_bytes);
  const auto place = offload.next();
  place->keep(tensor);
  return {place->give(), offload.bytes()};
}

}  // namespace

TEST_CASE("offloaded tensors give the bits of the plain step, also beside recomputed segments") {
  device::install_allocator();
  for (const std::int64_t micro : {2, 6}) {
    const at::Tensor plain = ChainRun(blocks, {}, micro).state();
    for (const char* const policy : {"all", "*", "every:2", "largest:2", "block.*"})
      for (const std::vector<std::string>& recompute : std::vector<std::vector<std::string>>{{}, {"all"}, {"block.1"}})
        for (const std::int64_t min_bytes : {0, 60}) {
          CAPTURE(policy);
          ChainRun run(blocks, recompute, micro);
          run.trades.offload = {policy};
          run.trades.min_bytes = min_bytes;
          CHECK(at::equal(run.state(), plain));
        }
  }
}

TEST_CASE("a tensor comes back with its values, offset and strides, whatever its layout") {
  const at::Tensor base = at::arange(240, at::kDouble).view({4, 5, 12});
  const at::Tensor expanded = at::arange(7).unsqueeze(1).expand({7, 9});
  for (const at::Tensor& tensor : {base, base.transpose(0, 2), base.slice(2, 3, 9, 2), base.narrow(0, 1, 2), expanded,
                                   base.select(0, 3).t(), at::arange(3, at::kFloat).sum(), at::empty({0, 4}),
                                   at::rand({2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast)}) {
    const auto [back, sent] = trip(tensor);
    CHECK(at::equal(back, tensor));
    CHECK(back.strides() == tensor.strides());
    CHECK(back.dtype() == tensor.dtype());
    if (tensor.numel() > 0) {
      CHECK(back.data_ptr() != tensor.data_ptr());
      CHECK(sent > 0);
    }
  }
}

TEST_CASE("one storage goes once, in each state that it was saved in, and small parts of a large one go alone") {
  engine::FixedStorages fixed;
  engine::Offload offload(fixed);
  offload.begin(1);
  at::Tensor base = at::rand({100});
  std::vector<std::unique_ptr<device::SavedTensor>> places;
  const auto keep = [&](const at::Tensor& tensor) {
    places.push_back(offload.next());
    places.back()->keep(tensor);
  };
  keep(base);
  keep(base.view({10, 10}).t());
  keep(base.narrow(0, 10, 50));
  CHECK(offload.bytes() == 400);
  const at::Tensor before = base.clone();
  base.add_(1);
  keep(base);
  CHECK(offload.bytes() == 800);
  keep(base.narrow(0, 10, 5));
  CHECK(offload.bytes() == 820);
  CHECK(at::equal(places[0]->give(), before));
  CHECK(at::equal(places[2]->give(), before.narrow(0, 10, 50)));
  CHECK(at::equal(places[3]->give(), base));
  CHECK(at::equal(places[4]->give(), base.narrow(0, 10, 5)));
  const at::Tensor first = places[0]->give(), second = places[1]->give();
  CHECK(first.data_ptr() == second.data_ptr());  // brought back once while it is in use
}

TEST_CASE("a storage's address that is used anew is not taken for the old one") {
  engine::FixedStorages fixed;
  engine::Offload offload(fixed);
  offload.begin(1);
  std::vector<std::unique_ptr<device::SavedTensor>> places;
  for (int i = 0; i < 20; ++i) {
    places.push_back(offload.next());
    places.back()->keep(at::full({50}, i));
  }
  for (int i = 0; i < 20; ++i) CHECK(places[static_cast<std::size_t>(i)]->give()[7].item<std::int64_t>() == i);
}

TEST_CASE("what stays: tensors below min_bytes, parameters, their views, and what has no plain memory") {
  const at::Tensor weight = at::rand({10, 10});
  const NamedTensors fixed = {{"w", weight}};
  const auto stays = [&](const at::Tensor& tensor, std::int64_t min_bytes = 1) {
    return trip(tensor, min_bytes, fixed).sent == 0;
  };
  CHECK(stays(weight));
  CHECK(stays(weight.t().narrow(0, 2, 3)));
  CHECK_FALSE(stays(weight.clone()));
  CHECK(stays(weight.clone(), 401));
  CHECK_FALSE(stays(weight.clone(), 400));
  CHECK(stays(weight.to_sparse()));
  CHECK(stays(at::view_as_complex(at::rand({4, 2})).conj()));
}

TEST_CASE("a tensor that stayed and was changed in place is found") {
  engine::FixedStorages fixed;
  engine::Offload offload(fixed);
  offload.begin(1000);
  offload.set_place("segment 'block.3'");
  at::Tensor small = at::empty({4});
  const auto place = offload.next();
  place->keep(small);
  const auto version = std::to_string(small._version());
  small.add_(1);
  CHECK(told([&] { place->give(); }) ==
        "70 segment 'block.3': error[model.changed_in_place]: a tensor that the backward pass needs was changed in "
        "place: it is at version " +
            std::to_string(small._version()) + " and was saved at version " + version +
            "\n  hint: let the model write to a new tensor");
}

TEST_CASE("between forward and backward the bytes are the host's, and all of them come back") {
  device::install_allocator();
  auto& on_device = device::pool_of(device::Domain::kDevice);
  auto& on_host = device::pool_of(device::Domain::kHost);
  ChainModel model;
  const at::Tensor w = model.add("w", {64, 64}), x = at::rand({500, 64});
  StepPlan plan;
  plan.offload.value = {"all"};
  engine::TradedSegments segments(plan, model);
  const auto device_start = on_device.reading().allocated, host_start = on_host.reading().allocated;
  {
    at::Tensor loss;
    {
      const auto scope = segments.begin({});
      loss = hidden(hidden(hidden(x, w), w), w).square().sum();
      segments.end();
    }
    CHECK(on_device.reading().allocated - device_start < 100 * 1024);
    CHECK(on_host.reading().allocated - host_start > 6 * 500 * 64 * 4);
    loss.backward();
    const auto next = segments.begin({});
    CHECK(on_host.reading().allocated == host_start);
  }
}

TEST_CASE("memory that runs out at any allocation of an offloaded step leaves no trace, and all of it comes back") {
  device::install_allocator();
  auto& pool = device::pool_of(device::Domain::kDevice);
  const auto make = [] {
    auto run = std::make_unique<ChainRun>(blocks, std::vector<std::string>{"block.1"});
    run->trades.offload = {"all"};
    run->trades.min_bytes = 1;
    run->bench.parts.on_oom = {"retry", "save"};
    return run;
  };
  const at::Tensor undisturbed = make()->state();
  int failed = 0;
  for (int n = 1;; ++n) {
    auto run = make();
    std::int64_t before = 0, after = 0;
    run->bench.hook.on_window = [&](const WindowReport& report, Requests&) {
      if (report.update == 2) {
        before = pool.reading().allocated;
        pool.refuse_after(n);
      }
      if (report.update == 3) after = pool.reading().allocated;
    };
    CHECK(at::equal(run->state(), undisturbed));
    const bool refused = !run->bench.hook.ooms.empty() && run->bench.hook.ooms[0].update == 3;
    pool.refuse_after(0);
    CHECK(after == before);
    if (!refused) break;
    ++failed;
  }
  CHECK(failed > 60);
}
