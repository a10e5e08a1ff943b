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

namespace {

struct Losses {
  at::Tensor parameters;
  std::vector<std::string> rungs;
  std::int64_t oom_retries = 0;
  bool base_is_back = true;  ///< after every lost attempt
};

/// Two updates of 2 x 4 samples. In window `update`, as many attempts are lost as told, each at its n-th allocation.
Losses lose(std::int64_t update, std::int64_t n, std::size_t losses) {
  SmallMlp model(0, at::kDouble);
  const BlobDataset data(16, at::kDouble);
  Bench bench(model, data);
  bench.micro(4);
  bench.parts.settings.batch_size = 8;
  bench.parts.settings.optimizer = {};
  bench.parts.settings.optimizer.name = OptimizerSettings::Name::kAdamw;
  bench.parts.settings.clip_grad_norm = 0.5;
  bench.parts.on_oom = {"retry", "halve_micro_batch", "save"};
  std::int64_t base = 0;
  const auto begin = [&](std::int64_t next) {
    base = device_pool().reading().allocated;
    device_pool().refuse_after(next == update && losses > 0 ? n : 0);
  };
  Losses result;
  // In the first window moments and the scale of the loss are made, once and to stay.
  const std::int64_t once = update == 1 ? 2 * 8 * (16 * 12 + 16 + 3 * 16) + 3 * 4 + 8 : 0;
  bench.hook.on_begin = [&] { begin(1); };
  bench.hook.on_window = [&](const WindowReport& report, Requests&) { begin(report.update + 1); };
  bench.hook.on_out_of_memory = [&](Requests&) {
    const std::int64_t more = device_pool().reading().allocated - base;
    result.base_is_back = result.base_is_back && more >= 0 && more <= once;
    if (bench.hook.ooms.size() < losses) device_pool().refuse_after(n);
  };
  result.oom_retries = bench.run().progress.oom_retries;
  device_pool().refuse_after(0);
  result.parameters = model.flat_parameters();
  for (const auto& report : bench.hook.ooms) result.rungs.push_back(report.rung);
  return result;
}

}  // namespace

TEST_CASE("C83: attempts lost at any allocation are as many as rungs taken, and the update is the same after halving") {
  const at::Tensor undisturbed = lose(1, 0, 0).parameters;
  const std::vector<std::string> all = {"retry", "halve_micro_batch", "halve_micro_batch"};
  for (const std::int64_t update : {1, 2})
    for (const std::size_t losses : {1U, 2U, 3U}) {
      std::int64_t n = 1;
      while (true) {
        const Losses result = lose(update, n, losses);
        if (result.rungs.empty()) break;
        CAPTURE(n);
        // Fewer than asked for where a later attempt has fewer allocations: moments that were made stay.
        const auto lost = static_cast<std::ptrdiff_t>(result.rungs.size());
        REQUIRE(result.rungs.size() <= losses);
        REQUIRE(result.rungs == std::vector<std::string>(all.begin(), all.begin() + lost));
        REQUIRE(result.oom_retries == lost);
        REQUIRE(result.base_is_back);
        REQUIRE((result.parameters - undisturbed).norm().item<double>() <= 1e-9 * undisturbed.norm().item<double>());
        if (losses == 1) REQUIRE(at::equal(result.parameters, undisturbed));
        ++n;
      }
      CHECK(n > 20);
    }
}

TEST_CASE("C59: a checkpoint takes nothing from the device's budget") {
  SmallMlp model;
  const BlobDataset data(16);
  Bench bench(model, data);
  bench.parts.settings.batch_size = 8;
  engine::Trainer trainer(bench.parts);
  trainer.run();
  const auto before = device_pool().reading().allocations;
  (void)trainer.state();
  CHECK(device_pool().reading().allocations == before);
}

TEST_CASE("C59: a save that fails after memory ran out is told, and memory stays the reported cause") {
  SmallMlp model;
  const BlobDataset data(24);
  Bench bench(model, data);
  bench.parts.settings.batch_size = 8;
  bench.parts.on_oom = {"save"};
  bench.hook.on_window = [](const WindowReport&, Requests&) { device_pool().refuse_after(3); };
  bench.saver.on_save = [] { throw std::bad_alloc(); };
  std::string told;
  try {
    bench.run();
  } catch (const Error& error) {
    told = error.what();
    CHECK(error.code() == ExitCode::kDeviceOutOfMemory);
  }
  device_pool().refuse_after(0);
  CHECK(bench.hook.ended == std::vector<int>{81});
  CHECK(told.starts_with("forward of update 2, micro-batch 0: error[memory.device]: device memory: wanted "));
  CHECK(bench.notes.notes == std::vector<std::string>{"the state could not be saved before the end: std::bad_alloc"});
}

TEST_CASE("every so many micro-batches their memory is looked at: what they hold at the end, and at most") {
  struct Seen : engine::Observer {
    void window(const engine::WindowSeen& seen) override { samples.push_back(seen.memory); }
    std::vector<engine::MemorySample> samples;
  };
  const auto run = [](std::int64_t every) {
    Seen seen;
    SmallMlp model;
    const BlobDataset data(32);
    Bench bench(model, data);
    bench.micro(2);
    bench.parts.settings.batch_size = 8;
    bench.parts.observer = &seen;
    bench.parts.meter = &device_pool();
    bench.parts.sample_every = every;
    bench.run();
    return seen.samples;
  };
  const auto counts = [&](std::int64_t every) {
    std::vector<std::int64_t> counted;
    for (const auto& sample : run(every)) counted.push_back(sample.micro_batches);
    return counted;
  };
  CHECK(counts(0) == std::vector<std::int64_t>{0, 0, 0, 0});
  CHECK(counts(1) == std::vector<std::int64_t>{4, 4, 4, 4});
  CHECK(counts(3) == std::vector<std::int64_t>{2, 1, 1, 2});
  CHECK(counts(8) == std::vector<std::int64_t>{1, 0, 1, 0});
  for (const auto& sample : run(4)) {
    CHECK(sample.allocated >= 2 * 4 * (16 * 12 + 16 + 3 * 16));  // weights and gradients
    CHECK(sample.peak > sample.allocated);
    CHECK(sample.reserved >= sample.peak);
  }
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
  REQUIRE(names == std::vector<std::string>{"forward", "backward", "prepare", "update"});
  const auto& forward = memory.figures()[0];
  const auto& backward = memory.figures()[1];
  const auto& update = memory.figures()[3];
  for (const auto* row : {&forward, &backward, &update}) CHECK(row->times == 2);
  constexpr std::int64_t kGradients = 4 * (16 * 12 + 16 + 3 * 16);
  CHECK(forward.kept > 8 * 16 * 4);
  CHECK(backward.kept > kGradients - forward.kept);
  CHECK(backward.rise > kGradients);
  CHECK(update.kept <= -kGradients);
}
