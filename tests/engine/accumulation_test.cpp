// Any split of a window gives the same update: ragged, masked, clipped.
#include <doctest/doctest.h>

#include "engine/fixtures.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

/// The model after 20 updates of batch 64 (the last window ragged), in micro-batches of `micro` samples.
at::Tensor trained(std::int64_t micro, plan::OptimizerSettings::Name optimizer, at::ScalarType type) {
  SmallMlp model(0, type);
  const BlobDataset data(64 * 19 + 37, type);
  Bench bench(model, data);
  bench.micro(micro);
  bench.parts.settings.batch_size = 64;
  bench.parts.settings.shuffle_train = true;
  bench.parts.settings.optimizer.name = optimizer;
  bench.parts.settings.optimizer.lr = optimizer == plan::OptimizerSettings::Name::kSgd ? 0.1 : 0.003;
  CHECK(bench.run().progress.update == 20);
  return model.flat_parameters();
}

double distance(const at::Tensor& a, const at::Tensor& b) { return ((a - b).norm() / b.norm()).item<double>(); }

}  // namespace

TEST_CASE("C01: a window's gradient is the mean over its valid targets, however it is split") {
  for (const std::int64_t micro : {0, 1, 2}) {
    ProbeModel model;
    const TableDataset data({{8, 5, 5}, {0, 0, 0}}, {{1, 0, 0}, {1, 1, 1}});
    Bench bench(model, data);
    bench.micro(micro);
    bench.parts.settings.batch_size = 2;
    bench.parts.settings.epochs = 5;
    bench.run();
    CHECK(model.value() == doctest::Approx(-10.0).epsilon(1e-6));  // five steps of 2.0, not of 4.0
    CHECK(bench.hook.windows[0].grad_norm == doctest::Approx(2.0));
    CHECK(bench.hook.windows[0].weight == 4);
  }
}

TEST_CASE("C01: rows of lengths 2, 2, 16, 16 give one gradient for every split") {
  TableDataset::Rows values, mask;
  for (const int length : {2, 2, 16, 16}) {
    values.emplace_back(16, static_cast<float>(length));
    mask.emplace_back(16, 0.0F);
    std::fill_n(mask.back().begin(), length, 1.0F);
  }
  for (const std::int64_t micro : {1, 2, 3, 4}) {
    ProbeModel model;
    const TableDataset data(values, mask);
    Bench bench(model, data);
    bench.micro(micro);
    bench.parts.settings.batch_size = 4;
    bench.run();
    CHECK(model.value() == doctest::Approx(-(2 * 4 + 16 * 32) / 36.0).epsilon(1e-6));
  }
}

TEST_CASE("C02: the last incomplete window is an update over its own samples") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(10, 1);
  Bench bench(model, data);
  bench.micro(1);
  bench.parts.settings.batch_size = 4;
  const auto outcome = bench.run();
  CHECK(model.value() == -3.0);
  CHECK(outcome.progress.update == 3);
  CHECK(outcome.progress.samples_seen == 10);
  CHECK(bench.hook.facts.total_updates == 3);
}

TEST_CASE("C02: drop_last leaves it out and says how many samples that costs") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(10, 1);
  Bench bench(model, data);
  bench.parts.settings.batch_size = 4;
  bench.parts.settings.drop_last_train = true;
  CHECK(bench.run().progress.update == 2);
  CHECK(model.value() == -2.0);
  CHECK(bench.notes.notes == std::vector<std::string>{"drop_last leaves out 2 samples of each epoch"});
}

TEST_CASE("C04: the learning rate follows updates, not micro-batches") {
  std::vector<double> rates[2];
  for (const int accumulated : {0, 1}) {
    ProbeModel model;
    const TableDataset data = TableDataset::constant(48, 1);
    Bench bench(model, data);
    bench.micro(accumulated ? 1 : 4);
    bench.parts.settings.batch_size = 4;
    bench.parts.settings.schedule.name = plan::ScheduleSettings::Name::kLinear;
    bench.run();
    for (const auto& window : bench.hook.windows) rates[accumulated].push_back(window.learning_rate);
  }
  REQUIRE(rates[1].size() == 12);
  for (int k = 1; k <= 12; ++k) CHECK(rates[1][static_cast<std::size_t>(k - 1)] == doctest::Approx(1 - k / 12.0));
  CHECK(rates[0] == rates[1]);
}

TEST_CASE("C06: a masked micro-batch changes nothing, a masked window is a counted no-op") {
  ProbeModel model;
  const TableDataset data({{6}, {9}, {9}, {9}, {2}, {4}}, {{0}, {1}, {0}, {0}, {1}, {1}});
  Bench bench(model, data);
  bench.micro(1);
  bench.parts.settings.batch_size = 2;
  std::vector<double> weights;
  bench.hook.on_window = [&](const WindowReport&, Requests&) { weights.push_back(model.value()); };
  const auto outcome = bench.run();
  CHECK(weights == std::vector<double>{-9, -9, -12});
  CHECK(outcome.progress.no_op_windows == 1);
  CHECK(outcome.progress.update == 2);
  CHECK_FALSE(bench.hook.windows[1].applied);
  CHECK(model.seen == std::vector<std::int64_t>{0, 1, 4, 5});  // no forward for the empty window
}

TEST_CASE("C09: a NaN in one micro-batch drops the whole window, counted once; the next window begins after it") {
  ProbeModel model;
  const TableDataset data(TableDataset::Rows{{1}, {std::nanf("")}, {1}, {1}, {1}, {1}, {1}, {1}});
  Bench bench(model, data);
  bench.micro(1);
  bench.parts.settings.batch_size = 4;
  std::vector<double> weights;
  bench.hook.on_window = [&](const WindowReport&, Requests&) { weights.push_back(model.value()); };
  const auto outcome = bench.run();
  CHECK(weights == std::vector<double>{0, -1});
  CHECK(outcome.progress.skipped_windows == 1);
  CHECK(outcome.progress.update == 1);
  CHECK(outcome.progress.samples_seen == 8);
  CHECK(model.seen == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("C07: clipping acts once, on the whole window's gradient") {
  ProbeModel model;
  const TableDataset data(TableDataset::Rows{{10}, {-9}, {30}, {30}});
  Bench bench(model, data);
  bench.micro(1);
  bench.parts.settings.batch_size = 2;
  bench.parts.settings.clip_grad_norm = 1.0;
  std::vector<double> weights;
  bench.hook.on_window = [&](const WindowReport&, Requests&) { weights.push_back(model.value()); };
  bench.run();
  CHECK(weights[0] == -0.5);
  CHECK(weights[1] == doctest::Approx(-1.5));
  CHECK(bench.hook.windows[1].grad_norm == 30);
}

TEST_CASE("batch 64 as 1x64, 4x16, 64x1 and with a ragged last micro-batch gives one model: SGD in float") {
  const auto sgd = plan::OptimizerSettings::Name::kSgd;
  const at::Tensor whole = trained(0, sgd, at::kFloat);
  for (const std::int64_t micro : {16, 1, 24}) CHECK(distance(trained(micro, sgd, at::kFloat), whole) <= 1e-6);
  CHECK(at::equal(trained(16, sgd, at::kFloat), trained(16, sgd, at::kFloat)));
}

TEST_CASE("batch 64 as 1x64, 4x16, 64x1 and with a ragged last micro-batch gives one model: AdamW in double") {
  const auto adamw = plan::OptimizerSettings::Name::kAdamw;
  const at::Tensor whole = trained(0, adamw, at::kDouble);
  for (const std::int64_t micro : {16, 1, 24}) CHECK(distance(trained(micro, adamw, at::kDouble), whole) <= 1e-9);
  CHECK(at::equal(trained(24, adamw, at::kDouble), trained(24, adamw, at::kDouble)));
}
