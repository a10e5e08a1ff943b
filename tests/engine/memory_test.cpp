// The step on the counting allocator: real refusals at every place, a commit that allocates nothing, figures of phases.
#include <doctest/doctest.h>

#include <set>

#include "device/allocator.hpp"
#include "device/domain_pool.hpp"
#include "device/phase_memory.hpp"
#include "engine/fixtures.hpp"

using namespace holdfast;
using namespace holdfast::tests;
using plan::OptimizerSettings;

namespace {

device::Pool& device_pool() {
  device::install_allocator();
  return device::pool_of(device::Domain::kDevice);
}

struct Result {
  at::Tensor state;
  std::vector<OomReport> ooms;
};

/// Three updates of 2 x 4 samples; the `refused`-th device allocation after the first update is refused (0: none).
Result train(std::int64_t refused, OptimizerSettings::Name optimizer = OptimizerSettings::Name::kAdamw) {
  SmallMlp model(0.3);
  const BlobDataset data(24);
  Bench bench(model, data);
  bench.micro(4);
  bench.parts.settings.batch_size = 8;
  bench.parts.settings.optimizer.name = optimizer;
  bench.parts.settings.optimizer.momentum = 0.5;
  bench.parts.settings.clip_grad_norm = 0.01;
  bench.parts.on_oom = {"retry", "save"};
  bench.hook.on_window = [refused](const WindowReport& report, Requests&) {
    device_pool().refuse_after(report.update == 1 ? refused : 0);
  };
  bench.run();
  return {model.flat(), bench.hook.ooms};
}

}  // namespace

TEST_CASE(
    "C83: memory refused at any allocation of an update gives the bits of the undisturbed run, and all comes back") {
  const at::Tensor undisturbed = train(0).state;
  const std::int64_t before = device_pool().reading().allocated;
  std::set<std::string> phases;
  std::int64_t n = 1;
  while (true) {
    const Result result = train(n);
    if (result.ooms.empty()) break;
    REQUIRE(at::equal(result.state, undisturbed));
    REQUIRE(result.ooms.size() == 1);
    REQUIRE(result.ooms[0].update == 2);
    REQUIRE(result.ooms[0].text.starts_with("device memory: wanted "));
    phases.insert(result.ooms[0].phase);
    ++n;
  }
  CHECK(n > 20);
  CHECK(phases.contains("forward"));
  CHECK(phases.contains("backward"));
  CHECK(device_pool().reading().allocated == before);
}

TEST_CASE("a commit allocates nothing on the device") {
  const std::int64_t before = device_pool().reading().forbidden;
  for (const auto optimizer : {OptimizerSettings::Name::kAdamw, OptimizerSettings::Name::kSgd}) train(0, optimizer);
  CHECK(device_pool().reading().forbidden == before);
}

TEST_CASE("batches are the host's, whatever is computed of them is the device's") {
  device::Pool& host = device::pool_of(device::Domain::kHost);
  const std::int64_t device_before = device_pool().reading().allocations, host_before = host.reading().allocations;
  train(0);
  CHECK(host.reading().allocations - host_before >= 6);  // two fields of three windows
  CHECK(device_pool().reading().allocations > device_before);
  CHECK(host.reading().allocated == 0);
}

TEST_CASE("phases tell what they need: forward keeps activations, backward gives them back and leaves gradients") {
  device::PhaseMemory memory(device_pool());
  SmallMlp model;
  const BlobDataset data(16);
  Bench bench(model, data);
  bench.parts.settings.batch_size = 8;
  bench.parts.phase_memory = &memory;
  bench.run();
  std::vector<std::string> names;
  for (const auto& row : memory.figures()) names.push_back(row.name);
  REQUIRE(names == std::vector<std::string>{"forward", "backward", "update"});
  const auto& forward = memory.figures()[0];
  const auto& backward = memory.figures()[1];
  const auto& update = memory.figures()[2];
  for (const auto* row : {&forward, &backward, &update}) CHECK(row->times == 2);
  constexpr std::int64_t kGradients = 4 * (16 * 12 + 16 + 3 * 16);
  CHECK(forward.kept > 8 * 16 * 4);
  CHECK(backward.kept > kGradients - forward.kept);
  CHECK(backward.rise > kGradients);
  CHECK(update.kept <= -kGradients);
}
