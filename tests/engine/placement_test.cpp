// Moments on the host: the same bits, the same checkpoints, less of the device's memory.
#include "engine/placement.hpp"

#include <doctest/doctest.h>

#include "device/allocator.hpp"
#include "device/domain_pool.hpp"
#include "engine/fixtures.hpp"
#include "optim/adamw.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

constexpr std::int64_t kParameters = 16 * 12 + 16 + 3 * 16, kTensors = 3;
constexpr std::int64_t kMomentBytes = 8 * kParameters + 4 * kTensors;  // two moments each, and a step count a tensor

std::int64_t allocated(device::Domain domain) {
  device::install_allocator();
  return device::pool_of(domain).reading().allocated;
}

class Placed : public Strategy {
 public:
  void edit(PlanEditor& editor) override { editor.optimizer_placement(Placement::kHost); }
};

/// AdamW with dropout on nine windows of up to eight samples; `offload` and `split` are strategies.
struct Run {
  Run(bool offload, bool split) : model(0.4), data(70), bench(model, data) {
    auto& settings = bench.parts.settings;
    settings.epochs = 1;
    settings.batch_size = 8;
    settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
    settings.optimizer.lr = 0.01;
    settings.clip_grad_norm = 0.5;
    if (split) bench.micro(3);
    if (offload) bench.parts.strategies.push_back({"strategy.optimizer_offload", &placed});
  }
  void stop_at(std::int64_t update) {
    bench.hook.on_window = [update](const WindowReport& report, Requests& requests) {
      if (report.update == update) requests.stop(ExitCode::kStoppedAfterSave, "enough");
    };
  }
  Placed placed;
  SmallMlp model;
  BlobDataset data;
  Bench bench;
};

bool same_bytes(const std::vector<base::TensorView>& a, const std::vector<base::TensorView>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.name == y.name && std::equal(x.bytes.begin(), x.bytes.end(), y.bytes.begin(), y.bytes.end());
  });
}

}  // namespace

TEST_CASE("with moments on the host the device holds 8 bytes a parameter less, and the host holds them") {
  const auto held = [](bool offload) {
    Run run(offload, false);
    std::int64_t on_device = 0, on_host = 0;
    const std::int64_t host_before = allocated(device::Domain::kHost);
    const std::int64_t device_before = allocated(device::Domain::kDevice);
    engine::Trainer trainer(run.bench.parts);
    (void)trainer.state();
    on_device = allocated(device::Domain::kDevice) - device_before;
    on_host = allocated(device::Domain::kHost) - host_before;
    return std::pair(on_device, on_host);
  };
  const auto [device_with, host_with] = held(true);
  const auto [device_without, host_without] = held(false);
  CHECK(device_without - device_with == kMomentBytes);
  CHECK(host_with - host_without == kMomentBytes);
}

TEST_CASE("updates, checkpoints and a resume either way are bit-equal with and without, split or whole") {
  for (const bool split : {false, true}) {
    Run plain(false, split), offloaded(true, split);
    plain.bench.run();
    offloaded.bench.run();
    CHECK(at::equal(plain.model.flat(), offloaded.model.flat()));
    CHECK(same_bytes(plain.bench.saver.last().optimizer, offloaded.bench.saver.last().optimizer));
    CHECK(plain.bench.saver.last().progress_json == offloaded.bench.saver.last().progress_json);
    for (const bool first : {false, true}) {
      Run before(first, split), after(!first, split);
      before.stop_at(4);
      before.bench.run();
      engine::Trainer trainer(after.bench.parts);
      trainer.restore(before.bench.saver.last());
      trainer.run();
      CHECK(at::equal(after.model.flat(), plain.model.flat()));
      CHECK(same_bytes(after.bench.saver.last().optimizer, plain.bench.saver.last().optimizer));
    }
  }
}

TEST_CASE("moments move between updates with their bits, and leave the device at once") {
  (void)allocated(device::Domain::kDevice);
  const auto train = [](bool move) {
    SmallMlp model;
    const NamedTensors parameters = model.parameters();
    optim::Adamw optimizer(parameters, {});
    for (int update = 0; update < 4; ++update) {
      at::manual_seed(update);
      for (const auto& entry : parameters) entry.tensor.mutable_grad() = at::randn_like(entry.tensor.detach());
      optimizer.prepare();
      optimizer.commit(0.1);
      if (!move || update != 1) continue;
      const std::int64_t before = allocated(device::Domain::kDevice);
      engine::place_moments(optimizer, Placement::kHost, at::kCPU);
      CHECK(before - allocated(device::Domain::kDevice) == kMomentBytes);
    }
    return model.flat();
  };
  CHECK(at::equal(train(true), train(false)));
}

TEST_CASE("when the host has no room for them, the moments stay where they are and the update is that of before") {
  SmallMlp model;
  const NamedTensors parameters = model.parameters();
  optim::Adamw optimizer(parameters, {});
  for (const auto& entry : parameters) entry.tensor.mutable_grad() = at::ones_like(entry.tensor.detach());
  optimizer.prepare();
  optimizer.commit(0.1);
  const std::int64_t before = allocated(device::Domain::kDevice);
  auto& host = device::pool_of(device::Domain::kHost);
  const std::int64_t host_before = host.reading().allocated;
  host.refuse_after(4);
  CHECK_THROWS_AS(engine::place_moments(optimizer, Placement::kHost, at::kCPU), std::bad_alloc);
  host.refuse_after(0);
  CHECK(allocated(device::Domain::kDevice) == before);
  CHECK(host.reading().allocated == host_before);
  CHECK(optimizer.state().get("first.step").item<float>() == 1);
}

TEST_CASE("moments on the host of parameters on a GPU are refused in words") {
  SmallMlp model;
  optim::Adamw optimizer(model.parameters(), {});
  CHECK_THROWS_WITH_AS(engine::place_moments(optimizer, Placement::kHost, at::Device(at::kMeta)),
                       "strategy: error[plan.optimizer_placement]: the optimizer's state cannot stay on the host while "
                       "the weights are on "
                       "'meta': streaming it is not built yet\n"
                       "  hint: remove [strategy.optimizer_offload], or set run.device to \"cpu\"",
                       Error);
}
