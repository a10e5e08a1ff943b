// Reduced precision and the loss scale in whole runs: overflows, vetoes, clips, splits, machines that cannot.
#include <ATen/autocast_mode.h>
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "device/allocator.hpp"
#include "device/arithmetic.hpp"
#include "device/domain_pool.hpp"
#include "engine/reduced.hpp"

using namespace holdfast;
using namespace holdfast::tests;
using plan::OptimizerSettings;

namespace {

/// A machine of a test's choice.
struct Machine : device::Arithmetic {
  explicit Machine(device::Support s) : answer(s) {}
  device::Support support(at::ScalarType) const override { return answer; }
  device::Support answer;
};

at::Tensor train(Strategy* strategy, std::int64_t micro, double lr = 0.1) {
  SmallMlp model;
  const BlobDataset data(48);
  Bench bench(model, data);
  if (micro) bench.micro(micro);
  if (strategy) bench.parts.strategies.push_back({"strategy.amp", strategy});
  bench.parts.settings.batch_size = 8;
  bench.parts.settings.optimizer.lr = lr;
  bench.run();
  return model.flat_parameters();
}

double distance(const at::Tensor& a, const at::Tensor& b) { return ((a - b).norm() / b.norm()).item<double>(); }

}  // namespace

TEST_CASE("bf16 and fp16 train close to fp32 and not like it, whole or split") {
  const at::Tensor plain = train(nullptr, 0);
  for (const Precision precision : {Precision::kBfloat16, Precision::kFloat16})
    for (const std::int64_t micro : {0, 3}) {
      Reduced reduced(precision);
      const double off = distance(train(&reduced, micro), plain);
      CHECK(off > 0);
      CHECK(off < 1e-2);
    }
}

TEST_CASE("the first updates in fp32 have the bits of a plain run, the later ones do not") {
  const at::Tensor plain = train(nullptr, 3);
  Reduced all_full(Precision::kFloat16, 6), all_but_one(Precision::kFloat16, 5);
  CHECK(at::equal(train(&all_full, 3), plain));
  CHECK_FALSE(at::equal(train(&all_but_one, 3), plain));
}

TEST_CASE("autocast is on in forward and evaluation from the update that asks for it, and nowhere else") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 1);
  Bench bench(model, data);
  Reduced reduced(Precision::kBfloat16, 2);
  bench.parts.strategies = {{"strategy.amp", &reduced}};
  bench.parts.eval = &data;
  bench.parts.settings.eval_every = {Interval::Unit::kUpdates, 2, {}};
  std::vector<bool> on;
  model.on_forward = [&](int) { on.push_back(at::autocast::is_autocast_enabled(at::kCPU)); };
  bench.hook.on_window = [](const WindowReport&, Requests&) {
    CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  };
  bench.run();
  // Updates 1 and 2, an evaluation (four batches) at 2, updates 3 and 4, an evaluation at 4.
  CHECK(on == std::vector<bool>{false, false, false, false, false, false, true, true, true, true, true, true});
}

TEST_CASE("an exception in forward leaves autocast off") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(1, 1);
  Bench bench(model, data);
  Reduced reduced(Precision::kFloat16);
  bench.parts.strategies = {{"strategy.amp", &reduced}};
  model.on_forward = [](int) { throw std::runtime_error("no more"); };
  CHECK_THROWS_AS(bench.run(), Error);
  CHECK_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
}

TEST_CASE(
    "C11: the clip sees unscaled gradients: a norm of 0.5 under a limit of 1 is not clipped at a scale of 65536") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 0.5);
  Bench bench(model, data);
  Reduced reduced(Precision::kFloat16, 0, scaling(65536));
  bench.micro(1);
  bench.parts.strategies.push_back({"strategy.amp", &reduced});
  bench.parts.settings.batch_size = 2;
  bench.parts.settings.clip_grad_norm = 1;
  bench.run();
  CHECK(model.value() == -1);
  for (const auto& window : bench.hook.windows) CHECK(window.grad_norm == 0.5);
  CHECK(scales_of(bench.hook) == std::vector<double>{65536, 65536});
}

TEST_CASE("C12: overflowed windows move neither schedule nor Adam's step; the scale falls once for each") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(12, 1);
  Bench bench(model, data);
  Reduced reduced(Precision::kFloat16, 0, scaling(1024));
  Overflow overflow(model, {1, 2});
  const Machine native(device::Support::kNative);
  bench.parts.arithmetic = &native;
  bench.parts.strategies = {{"strategy.amp", &reduced}, {"strategy.overflow", &overflow}};
  bench.parts.settings.optimizer.name = OptimizerSettings::Name::kAdamw;
  bench.parts.settings.schedule.warmup_updates = 10;
  const auto outcome = bench.run();
  std::vector<double> rates;
  for (const auto& window : bench.hook.windows)
    if (window.applied) rates.push_back(window.learning_rate);
  REQUIRE(rates.size() == 10);
  for (std::size_t i = 0; i < rates.size(); ++i) CHECK(rates[i] == doctest::Approx(0.1 * static_cast<double>(i + 1)));
  CHECK(outcome.progress.update == 10);
  CHECK(outcome.progress.skipped_windows == 2);
  const auto scales = scales_of(bench.hook);
  CHECK(std::vector(scales.begin(), scales.begin() + 4) == std::vector<double>{1024, 512, 256, 256});
  const auto saved = nlohmann::json::parse(bench.saver.last().progress_json);
  CHECK(saved["loss_scale_skipped"] == 2);
  float step = 0;
  std::memcpy(&step, bench.saver.last().optimizer.at(2).bytes.data(), sizeof step);
  CHECK(step == 10);
  CHECK(bench.notes.notes.front() ==
        "window 1 was dropped: its loss or a gradient is not finite; the loss scale is now 512");
}

TEST_CASE("gradients that overflow only because they are scaled are found again at a smaller scale") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(8, 2e37F);
  Bench bench(model, data);
  Reduced reduced(Precision::kFloat16, 0, scaling(128));
  bench.parts.strategies = {{"strategy.amp", &reduced}};
  bench.parts.settings.optimizer.lr = 5e-38;
  const auto outcome = bench.run();
  CHECK(scales_of(bench.hook) == std::vector<double>{128, 64, 32, 16, 16, 16, 16, 16});
  CHECK(outcome.progress.update == 5);
  CHECK(model.value() == doctest::Approx(-5));
}

TEST_CASE("C14: tiny losses let the scale grow to its ceiling and no further; every update is applied") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(150, 1e-8F);
  Bench bench(model, data);
  Reduced reduced(Precision::kFloat16, 0, scaling(65536, 1));
  bench.parts.strategies = {{"strategy.amp", &reduced}};
  const auto outcome = bench.run();
  CHECK(outcome.progress.update == 150);
  CHECK(bench.hook.windows.back().loss_scale == 16777216);
  CHECK(model.value() == doctest::Approx(-150e-8));
}

TEST_CASE("C16: after a vetoed update the next one works, each gradient is unscaled once and the scale stays") {
  struct Judge : Strategy {
    bool judges_gradients() const override { return true; }
    Verdict judge(const NamedTensors& gradients, const PhaseInfo&) override {
      seen.push_back(gradients.get("w").item<double>());
      return seen.back() > 10 ? Verdict::kDrop : Verdict::kApply;
    }
    std::vector<double> seen;
  };
  const auto run = [](bool scaled) {
    Judge judge;
    ProbeModel model;
    const TableDataset data(TableDataset::Rows{{1}, {2}, {20}, {40}, {0.5}, {0.25}});
    Bench bench(model, data);
    bench.micro(1);
    Reduced reduced(Precision::kFloat16, 0, scaling(1024, 2));
    if (scaled) bench.parts.strategies.push_back({"strategy.amp", &reduced});
    bench.parts.strategies.push_back({"strategy.judge", &judge});
    bench.parts.settings.batch_size = 2;
    bench.parts.settings.clip_grad_norm = 1;
    bench.run();
    CHECK(judge.seen == std::vector<double>{1.5, 30, 0.375});
    if (scaled) CHECK(scales_of(bench.hook) == std::vector<double>{1024, 1024, 1024});
    if (scaled) CHECK(nlohmann::json::parse(bench.saver.last().progress_json)["loss_scale"] == 2048);
    return model.value();
  };
  CHECK(run(true) == run(false));
}

TEST_CASE("a commit allocates nothing on the device under fp16 either") {
  device::install_allocator();
  const auto& pool = device::pool_of(device::Domain::kDevice);
  const std::int64_t before = pool.reading().forbidden;
  Reduced reduced(Precision::kFloat16);
  train(&reduced, 3);
  CHECK(pool.reading().forbidden == before);
}

TEST_CASE("a machine that emulates the dtype gets one warning with the order of the cost; one that cannot is 69") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(2, 1);
  struct Warnings : Notes {
    void warn(std::string_view sentence) override { warnings.emplace_back(sentence); }
    std::vector<std::string> warnings;
  } heard;
  Bench bench(model, data);
  Reduced reduced(Precision::kBfloat16);
  const Machine emulates(device::Support::kEmulated), native(device::Support::kNative), cannot(device::Support::kNone);
  bench.parts.strategies = {{"strategy.amp", &reduced}};
  bench.parts.observer = &heard;
  bench.parts.arithmetic = &emulates;
  bench.run();
  CHECK(heard.warnings == std::vector<std::string>{
                              "strategy.amp: this device has no instructions for bf16; emulated bf16 was measured at "
                              "11 to 29 times the time of fp32 and 1.9 times its memory"});
  heard.warnings.clear();
  bench.parts.arithmetic = &native;
  bench.run();
  CHECK(heard.warnings.empty());
  bench.parts.arithmetic = &cannot;
  Reduced half(Precision::kFloat16);
  bench.parts.strategies = {{"strategy.amp", &half}};
  try {
    bench.run();
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUnavailable);
    CHECK(std::string(error.what()) ==
          "strategy.amp: error[plan.precision]: this device cannot compute in fp16\n"
          "  hint: set dtype = \"bf16\", remove the table, or use another device");
  }
}
