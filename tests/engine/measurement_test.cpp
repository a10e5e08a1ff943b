// What updates cost, against bytes counted by hand, with every trade and with memory refused at every allocation.
#include "engine/measurement.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <ostream>
#include <set>

#include "device/allocator.hpp"
#include "device/domain_pool.hpp"
#include "engine/chain.hpp"
#include "engine/reduced.hpp"

using namespace holdfast;
using namespace holdfast::tests;
using engine::Measurement;
using engine::SavedGroup;

namespace {

constexpr std::int64_t kFloat = 4, kBatch = 6, kIn = 6, kHidden = 8, kOut = 4;  // as ChainRun's data and two_layers
constexpr std::int64_t kLoss = 4;                                               // the loss itself outlives the forward

device::Pool& device_pool() {
  device::install_allocator();
  return device::pool_of(device::Domain::kDevice);
}

/// tanh(x A) in the segment "a", tanh(h B) in "b".
ChainModel::Body two_layers(ChainModel& model) {
  const at::Tensor a = model.add("a", {kIn, kHidden}), b = model.add("b", {kHidden, kOut});
  return [a, b](const at::Tensor& x, Segments& segments) {
    const at::Tensor h = segments.run("a", [a](const at::Tensor& in) { return at::tanh(at::mm(in, a)); }, x);
    return segments.run("b", [b](const at::Tensor& in) { return at::tanh(at::mm(in, b)); }, h);
  };
}

Measurement measure(engine::TrainerParts parts, std::int64_t updates = 3) {
  engine::MeasurementSettings settings;
  settings.updates = updates;
  settings.meter = &device_pool();
  return engine::Trainer(std::move(parts)).measure(settings);
}

struct Figures {
  std::string name;
  std::int64_t saved, sent, dropped;
  bool operator==(const Figures&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Figures& row) {
  return out << row.name << ": " << row.saved << ", " << row.sent << ", " << row.dropped;
}

std::vector<Figures> figures(const Measurement& measured) {
  std::vector<Figures> rows;
  for (const auto& row : measured.segments) rows.push_back({row.name, row.saved, row.sent, row.dropped});
  return rows;
}

}  // namespace

TEST_CASE("bytes of weights, gradients, moments and saved tensors are those counted by hand") {
  (void)device_pool();
  ChainRun run(two_layers, {}, 0);
  run.bench.parts.settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
  const Measurement measured = measure(run.bench.parts);
  constexpr std::int64_t kWeights = kFloat * (kIn * kHidden + kHidden * kOut);
  CHECK(measured.weights == kWeights);
  CHECK(measured.gradients == kWeights);
  CHECK(measured.moments == 2 * kWeights + 2 * kFloat);  // two of each, and a step count of each
  CHECK_FALSE(measured.moments_on_host);
  constexpr std::int64_t kA = kFloat * kBatch * kHidden, kB = kFloat * kBatch * kOut;  // what tanh gives
  CHECK(figures(measured) == std::vector<Figures>{{"a", kA, 0, 0}, {"b", kB, 0, 0}, {"", 0, 0, 0}});
  CHECK(measured.saved == kA + kB);
  CHECK(measured.activations == kA + kB + kLoss);
  CHECK(measured.segments[0].inputs == 0);  // the batch is there anyway
  CHECK(measured.segments[0].outputs == kA);
  CHECK(measured.segments[1].inputs == kA);
  CHECK(measured.segments[1].outputs == kB);
  REQUIRE(measured.largest.size() == 2);
  CHECK(measured.largest[0].operation == "tanh");
  CHECK(measured.largest[0].dtype == "float32");
  CHECK(measured.largest[0].shape == std::vector<std::int64_t>{kBatch, kHidden});
  CHECK(measured.largest[0].where == SavedGroup::Where::kDevice);
  CHECK(measured.largest[0].bytes == kA);
  CHECK(measured.largest[0].segments == std::vector<std::string>{"a"});
}

TEST_CASE("the first update counts for no time, the last one only for memory") {
  ChainRun run(two_layers, {}, 2);
  const Measurement measured = measure(run.bench.parts, 4);
  CHECK(measured.updates == 3);
  CHECK(measured.samples == 6);
  CHECK(measured.micro_batches == 3);
  CHECK(measured.micro_batch_samples == 2);
  CHECK(measured.update.has_value());
  CHECK(figures(measured)[0] == Figures{"a", kFloat * 2 * kHidden, 0, 0});
  std::vector<std::string> phases;
  for (const auto& phase : measured.phases) {
    phases.push_back(phase.name);
    CHECK(phase.time.has_value());
    CHECK(phase.peak <= measured.peak);
  }
  CHECK(phases == std::vector<std::string>{"forward", "backward", "prepare", "update"});
  for (const auto& row : measured.segments) {
    CHECK(row.forward.has_value());
    CHECK(row.backward.has_value());
    CHECK_FALSE(row.recompute.has_value());
  }
}

TEST_CASE("a recomputed segment keeps its inputs; what it drops and how long it runs again is told") {
  ChainRun run(two_layers, {"a", "b"}, 0);
  const Measurement measured = measure(run.bench.parts);
  constexpr std::int64_t kA = kFloat * kBatch * kHidden, kB = kFloat * kBatch * kOut;
  // "b" keeps its input, and its output is what the square in the loss saves.
  CHECK(figures(measured) == std::vector<Figures>{{"a", 0, 0, kA}, {"b", kA, 0, kB}, {"", kB, 0, 0}});
  CHECK(measured.activations == kA + kB + kLoss);
  CHECK(measured.segments[0].recomputed);
  CHECK(measured.segments[0].recompute.has_value());
  CHECK_FALSE(measured.segments[2].recompute.has_value());
  bool input = false;
  for (const auto& group : measured.largest)
    input = input || (group.operation == "input of the segment" && group.bytes == kA);
  CHECK(input);
}

TEST_CASE("offloaded tensors wait on the host") {
  ChainRun run(two_layers, {}, 0);
  run.trades.offload = {"a", "b"};
  const Measurement measured = measure(run.bench.parts);
  constexpr std::int64_t kA = kFloat * kBatch * kHidden, kB = kFloat * kBatch * kOut;
  // Each copy is made once: "b" saves its input, which "a" has sent already.
  CHECK(figures(measured) == std::vector<Figures>{{"a", 0, kA, 0}, {"b", 0, kB, 0}, {"", kB, 0, 0}});
  CHECK(measured.activations == kB + kLoss);
  CHECK(measured.segments[0].offloaded);
}

TEST_CASE("memory that the backward pass of a segment needs is told of this segment") {
  constexpr std::int64_t kWide = 500;
  ChainRun run(
      [](ChainModel& model) -> ChainModel::Body {
        const at::Tensor a = model.add("a", {kIn, kHidden}), b = model.add("b", {kHidden, kWide}),
                         c = model.add("c", {kWide, kOut});
        return [a, b, c](const at::Tensor& x, Segments& segments) {
          at::Tensor h = segments.run("narrow", [a](const at::Tensor& in) { return at::tanh(at::mm(in, a)); }, x);
          h = segments.run("wide", [b, c](const at::Tensor& in) { return at::mm(at::tanh(at::mm(in, b)), c); }, h);
          return segments.run("last", [](const at::Tensor& in) { return at::tanh(in); }, h);
        };
      },
      {}, 0);
  const Measurement measured = measure(run.bench.parts);
  constexpr std::int64_t kGradient = kFloat * kBatch * kWide;
  REQUIRE(measured.segments.size() == 4);
  CHECK(measured.segments[0].backward_rise < kGradient);
  CHECK(measured.segments[1].backward_rise > kGradient);
  CHECK(measured.segments[2].backward_rise < kGradient);
  CHECK(measured.segments[3].backward_rise < kGradient);
  CHECK(measured.segments[1].forward_rise > kGradient);
  CHECK(measured.segments[0].forward_rise < kGradient);
}

TEST_CASE("a part of a storage is told with the bytes of all of it, which stay") {
  ChainRun run(
      [](ChainModel& model) -> ChainModel::Body {
        const at::Tensor a = model.add("a", {kIn, 40});
        return [a](const at::Tensor& x, Segments&) { return at::mm(x, a).narrow(1, 0, 10); };
      },
      {}, 0);
  const Measurement measured = measure(run.bench.parts);
  REQUIRE(measured.largest.size() == 1);
  CHECK(measured.largest[0].bytes == kFloat * kBatch * 40);
  CHECK(measured.largest[0].tensor_bytes == kFloat * kBatch * 10);
}

TEST_CASE("a model without segments is one row") {
  SmallMlp model;
  const BlobDataset data(24);
  Bench bench(model, data);
  bench.parts.settings.batch_size = 8;
  const Measurement measured = measure(bench.parts);
  REQUIRE(measured.segments.size() == 1);
  CHECK(measured.segments[0].name.empty());
  CHECK(measured.activations == measured.saved + kLoss);
}

TEST_CASE("measured updates are those of a run, and the bytes are the same each time") {
  for (const std::vector<std::string>& recompute : {std::vector<std::string>{}, {"a"}}) {
    ChainRun trained(two_layers, recompute), measured(two_layers, recompute), again(two_layers, recompute);
    trained.bench.parts.settings.epochs.reset();
    trained.bench.parts.settings.updates = 4;
    const at::Tensor state = trained.state();
    const auto figures_of = [](ChainRun& run) {
      const Measurement m = measure(run.bench.parts);
      std::vector<std::int64_t> all = {m.activations, m.peak - m.other, m.saved};
      for (const auto& row : m.segments)
        all.insert(all.end(), {row.saved, row.dropped, row.forward_rise, row.backward_rise});
      return all;
    };
    const auto first = figures_of(measured);
    CHECK(at::equal(measured.model.flat(), state));
    CHECK(figures_of(again) == first);
  }
}

TEST_CASE("memory refused at any allocation ends the measurement with the place and what was seen until then") {
  (void)device_pool();
  std::set<std::string> places;
  std::int64_t refused = 1;
  bool segment_told = false;
  for (;; ++refused) {
    ChainRun run(two_layers, {"a"}, 0);
    const std::int64_t before = device_pool().reading().allocated;
    {
      engine::Trainer trainer(run.bench.parts);
      device_pool().refuse_after(refused);
      engine::MeasurementSettings settings;
      settings.updates = 2;
      settings.meter = &device_pool();
      const Measurement measured = trainer.measure(settings);
      device_pool().refuse_after(0);
      if (!measured.shortage) break;
      CHECK(measured.shortage->text.starts_with("device memory: wanted "));
      CHECK(measured.peak > 0);
      CHECK(measured.weights == kFloat * (kIn * kHidden + kHidden * kOut));
      places.insert(measured.shortage->place);
      if (measured.shortage->place == "forward of update 1, micro-batch 0, segment 'b'") {
        REQUIRE(measured.segments.size() == 3);
        segment_told = segment_told || measured.segments[0].dropped == kFloat * kBatch * kHidden;
      }
    }
    REQUIRE(device_pool().reading().allocated <= before);
  }
  CHECK(refused > 20);
  for (const char* place :
       {"forward of update 1, micro-batch 0, segment 'a'", "forward of update 1, micro-batch 0, segment 'b'",
        "backward of update 1, micro-batch 0, segment 'a'", "backward of update 1, micro-batch 0, segment 'b'",
        "backward of update 3, micro-batch 0, segment 'b'"})
    CHECK_MESSAGE(places.contains(place), std::string(place));
  CHECK(segment_told);
}

TEST_CASE("without room for the optimizer's state this is the place, and the weights are told") {
  (void)device_pool();
  ChainRun run(two_layers, {}, 0);
  run.bench.parts.settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
  engine::Trainer trainer(run.bench.parts);
  device_pool().set_budget(device_pool().reading().allocated + 100);
  engine::MeasurementSettings settings;
  settings.meter = &device_pool();
  const Measurement measured = trainer.measure(settings);
  device_pool().set_budget(0);
  REQUIRE(measured.shortage.has_value());
  CHECK(measured.shortage->place == "the optimizer's state");
  CHECK(measured.weights == kFloat * (kIn * kHidden + kHidden * kOut));
  CHECK(measured.segments.empty());
}

TEST_CASE("reduced precision is compared with fp32, after the updates that ignore it") {
  ChainRun run(two_layers, {}, 0);
  Reduced reduced(Precision::kBfloat16, 7);
  run.bench.parts.strategies = {{"strategy.amp", &reduced}};
  const Measurement measured = measure(run.bench.parts);
  REQUIRE(measured.precision.has_value());
  CHECK(measured.precision->name == "bf16");
  CHECK(measured.precision->full_activations == kFloat * kBatch * (kHidden + kOut) + kLoss);
  CHECK(measured.precision->activations == measured.activations);
  CHECK(measured.largest[0].dtype == "bfloat16");
}

TEST_CASE("windows that never become an update are told in words") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(8, std::numeric_limits<float>::quiet_NaN());
  Bench bench(model, data);
  bench.parts.settings.batch_size = 4;
  try {
    measure(bench.parts);
    FAIL("measured");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDiverged);
    CHECK(std::string(error.what()) ==
          "update 1: error[measure.fruitless]: none of 100 windows could be applied, so there is nothing to measure\n"
          "  hint: look for NaN, for labels that are all masked, and lower optimizer.lr or the loss scale");
  }
}
