// Figures as tables and sentences, and the same as JSON.
#include "app/worker/measurement_text.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

engine::Measurement sample() {
  engine::Measurement m;
  m.updates = 2;
  m.samples = 64;
  m.micro_batches = 2;
  m.micro_batch_samples = 32;
  m.weights = m.gradients = 1 << 20;
  m.moments = 2 << 20;
  m.moments_on_host = true;
  m.activations = 5 << 20;
  m.saved = (5 << 20) - 4;
  m.peak = 9 << 20;
  m.budget = 16 << 20;
  m.update = 40ms;
  m.phases = {{"forward", 7 << 20, 5 << 20, 9ms}, {"backward", 9 << 20, 2 << 20, std::nullopt}};
  m.segments.resize(2);
  auto& block = m.segments[0];
  block.name = "block.0";
  block.recomputed = true;
  block.saved = 1 << 20;
  block.dropped = 3 << 20;
  block.forward_rise = 4 << 20;
  block.forward = 3500us;
  block.backward = 8ms;
  block.recompute = 250us;
  m.segments[1].saved = 4 << 20;
  m.segments[1].forward = 1ms;
  using Where = engine::SavedGroup::Where;
  m.largest = {{"gelu", "float32", {32, 256, 2048}, Where::kNowhere, 3, 3 << 20, 3 << 20, {"block.0", "block.1"}},
               {"", "bfloat16", {7}, Where::kDevice, 1, 1 << 20, 14, {""}}};
  return m;
}

}  // namespace

TEST_CASE("a measurement reads as tables of at most 100 columns") {
  const std::string text = app::measurement_text(sample());
  CHECK(text ==
        "measured: 2 updates of 64 samples, in 2 micro-batches of 32\n"
        "an update takes 40.00 ms: 1600 samples a second\n"
        "\n"
        "memory         bytes\n"
        "weights      1.0 MiB  with buffers\n"
        "gradients    1.0 MiB\n"
        "moments      2.0 MiB  in the host domain\n"
        "activations  5.0 MiB  of one micro-batch\n"
        "other              -  there before an update\n"
        "peak         9.0 MiB  of the budget of 16.0 MiB\n"
        "\n"
        "phase        peak     rise     time\n"
        "forward   7.0 MiB  5.0 MiB  9.00 ms\n"
        "backward  9.0 MiB  2.0 MiB        -\n"
        "\n"
        "segment                saved  dropped     rise  forward  backward  recompute\n"
        "block.0              1.0 MiB  3.0 MiB  4.0 MiB  3.50 ms   8.00 ms     250 us\n"
        "outside of segments  4.0 MiB        -        -  1.00 ms         -          -\n"
        "\n"
        "largest saved tensors of one micro-batch\n"
        "   bytes  count  operator  dtype     shape            kept     segment\n"
        " 3.0 MiB      3  gelu      float32   [32, 256, 2048]  dropped  block.0 (+1)\n"
        "1.0 MiB*      1  -         bfloat16  [7]              device   outside of segments\n"
        "* a part of a larger storage, all of which stays\n");
}

TEST_CASE("the widest words that there can be stay within 100 columns") {
  auto m = sample();
  const std::string longest(60, 'n');
  m.segments[0].name = longest;
  m.segments[0].sent = m.segments[0].saved = m.segments[0].dropped = m.segments[0].forward_rise = std::int64_t{1023}
                                                                                                  << 20;
  m.segments[0].forward = m.segments[0].backward = m.segments[0].recompute = 1000min;
  m.largest[0].operation = longest;
  m.largest[0].shape = {100000, 100000, 100000, 100000};
  m.largest[0].segments = {longest, "b", "c"};
  m.largest[0].bytes = (std::int64_t{1023} << 20) + 900000;
  std::istringstream lines(app::measurement_text(m));
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 100, line);
}

TEST_CASE("a model without segments is the whole model, and what was not reached is left out") {
  engine::Measurement m;
  m.weights = 100;
  m.peak = 100;
  m.segments.resize(1);
  m.segments[0].saved = 64;
  CHECK(app::measurement_text(m).find(
            "\nsegment      saved  rise  forward  backward\nwhole model   64 B     -        -         -\n") !=
        std::string::npos);
  m.segments.clear();
  CHECK(app::measurement_text(m).starts_with("memory       bytes\nweights      100 B  with buffers\n"));
}

TEST_CASE("precision that costs more time than fp32 is told with the ratio, one that costs less is not") {
  auto m = sample();
  CHECK(app::slower_precision(m, "strategy.amp").empty());
  m.precision = engine::PrecisionCost{"bf16", 570ms, 40ms, 19, 10};
  CHECK(app::slower_precision(m, "strategy.amp") ==
        "strategy.amp: an update in bf16 took 14.2 times as long as in fp32 on this device, with 1.90 times the "
        "activations");
  CHECK(app::measurement_text(m).ends_with(
      "\nbf16 against fp32: 570 ms to 40.00 ms an update, activations 19 B to 10 B\n"));
  m.precision->update = 30ms;
  CHECK(app::slower_precision(m, "strategy.amp").empty());
}

TEST_CASE("the JSON has every figure, null for those that are not known") {
  const auto json = app::measurement_json(sample());
  CHECK(json["update_seconds"] == 0.04);
  CHECK(json["memory"]["moments_domain"] == "host");
  CHECK(json["memory"]["budget_bytes"] == 16 << 20);
  CHECK(json["phases"][1]["seconds"].is_null());
  CHECK(json["segments"][0]["name"] == "block.0");
  CHECK(json["segments"][0]["recompute_seconds"] == 250e-6);
  CHECK(json["segments"][1]["name"].is_null());
  CHECK(json["saved_tensors"][0]["kept"] == "dropped");
  CHECK(json["saved_tensors"][0]["shape"] == nlohmann::ordered_json::array({32, 256, 2048}));
  CHECK(json["saved_tensors"][1]["segments"][0].is_null());
  CHECK(json["precision"].is_null());
  CHECK(json["out_of_memory"].is_null());
  auto m = sample();
  m.shortage = engine::Shortage{"forward of update 1", "device memory: wanted 1 B"};
  CHECK(app::measurement_json(m)["out_of_memory"]["place"] == "forward of update 1");
  CHECK(app::measurement_text(m).starts_with("until memory ran out: forward of update 1\n\nmemory "));
}
