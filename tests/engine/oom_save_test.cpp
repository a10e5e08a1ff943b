// What is saved when memory has run out for good: the last state, one tensor at a time, and only what is true is said.
#include <doctest/doctest.h>

#include "device/allocator.hpp"
#include "device/domain_pool.hpp"
#include "engine/chain.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

constexpr std::int64_t kSide = 256, kTensor = kSide * kSide * 4;

[[noreturn]] void run_out() {
  throw c10::OutOfMemoryError({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, "tried to allocate 9 GiB");
}

/// Reads each tensor as the store does, and measures how much host memory that takes at most.
struct ReadingSaver : engine::Saver {
  SaveReport save(const base::StateView& state, const Request& request) override {
    device::Pool& host = device::pool_of(device::Domain::kHost);
    const std::int64_t outer = host.open_peak();
    for (const auto* list : {&state.model, &state.optimizer})
      for (const auto& view : *list) {
        const auto bytes = view.read();
        REQUIRE(bytes.size() == view.size());
        read[view.name].assign(bytes.begin(), bytes.end());
      }
    peaks.push_back(host.close_peak(outer));
    requests.push_back(request);
    return {};
  }
  std::map<std::string, std::vector<std::byte>> read;
  std::vector<std::int64_t> peaks;
  std::vector<Request> requests;
};

/// Three weights that lie transposed in memory, so that each must be copied to be written; fails in window `fails`.
struct Transposed {
  explicit Transposed(int fails)
      : data(std::vector<std::vector<float>>(8, std::vector<float>(kSide, 1))), bench(model, data) {
    device::install_allocator();
    at::manual_seed(3);
    for (const char* name : {"a", "b", "c"})
      model.weights.push_back({name, (at::randn({kSide, kSide}) * 0.05).t().requires_grad_(true)});
    model.body = [this, fails, n = 0](const at::Tensor& in, Segments&) mutable {
      if (++n == fails) run_out();
      at::Tensor x = in;
      for (const auto& [name, w] : model.weights) x = at::tanh(at::linear(x, w));
      return x;
    };
    bench.parts.settings.batch_size = 2;
    bench.parts.settings.optimizer.name = plan::OptimizerSettings::Name::kAdamw;
    bench.parts.settings.optimizer.lr = 0.001;
    bench.parts.on_oom = {"save"};
    bench.parts.saver = &saver;
  }
  void end() {
    CHECK_THROWS_WITH_AS(bench.run(), doctest::Contains("error[memory.device]: tried to allocate 9 GiB"), Error);
    CHECK(bench.hook.ended == std::vector<int>{81});
  }
  ChainModel model;
  TableDataset data;
  ReadingSaver saver;
  Bench bench;
};

}  // namespace

TEST_CASE("C59: the state of the last finished update is saved with one tensor's copy at a time") {
  Transposed run(3);
  std::vector<at::Tensor> after;
  run.bench.hook.on_window = [&](const WindowReport& report, Requests& requests) {
    if (report.update == 1) requests.save("periodic");
    after.clear();
    for (const auto& entry : run.model.weights)
      after.push_back(entry.tensor.detach().clone(at::MemoryFormat::Contiguous));
  };
  run.end();
  REQUIRE(run.saver.requests.size() == 2);
  CHECK(run.saver.requests[1].update == 2);
  CHECK(run.saver.requests[1].reason == "oom");
  CHECK(run.saver.requests[1].suffix == "-oom");
  CHECK(run.saver.peaks[0] >= 9 * kTensor);  // an ordinary one copies weights and both moments
  CHECK(run.saver.peaks[1] >= kTensor);
  CHECK(run.saver.peaks[1] < 2 * kTensor);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const auto& bytes = run.saver.read.at(run.model.weights[i].name);
    REQUIRE(bytes.size() == kTensor);
    CHECK(std::memcmp(bytes.data(), after[i].const_data_ptr(), bytes.size()) == 0);
  }
  CHECK(run.bench.notes.notes.empty());
}

TEST_CASE("no checkpoint is spoken of that is not there: none asked for, nothing learned yet, or there already") {
  Transposed unasked(3);
  unasked.bench.hook.saves_at_last = false;
  unasked.end();
  CHECK(unasked.saver.requests.empty());
  CHECK(unasked.bench.notes.notes ==
        std::vector<std::string>{"no checkpoint is written: none was asked for ([hook.oom_checkpoint] does)"});

  Transposed early(1);
  early.end();
  CHECK(early.saver.requests.empty());
  CHECK(early.bench.notes.notes ==
        std::vector<std::string>{
            "no checkpoint is written: memory ran out in the first window, so there is nothing to lose yet"});

  Transposed saved(3);
  saved.bench.hook.on_window = [](const WindowReport&, Requests& requests) { requests.save("periodic"); };
  saved.end();
  CHECK(saved.saver.requests.size() == 2);
  CHECK(saved.bench.notes.notes == std::vector<std::string>{"the state after update 2 is in a checkpoint already"});
  for (const Transposed* run : {&unasked, &early, &saved})
    CHECK(run->bench.hook.ooms.back().action.find("saved") == std::string::npos);
}

TEST_CASE("memory that runs out between windows is exit code 81 too, and the state is saved") {
  Transposed run(100);
  struct Full : engine::Observer {
    void window(const engine::WindowSeen& seen) override {
      if (seen.report.update == 2) run_out();
    }
    void out_of_memory(const OomReport& report) override { told.push_back(report); }
    std::vector<OomReport> told;
  } full;
  run.bench.parts.observer = &full;
  CHECK_THROWS_WITH_AS(run.bench.run(),
                       "after update 2: error[memory.device]: tried to allocate 9 GiB\n  hint: use a bigger device",
                       Error);
  REQUIRE(full.told.size() == 1);
  CHECK(full.told[0].phase == "edge");
  REQUIRE(run.saver.requests.size() == 1);
  CHECK(run.saver.requests[0].update == 2);
  CHECK(run.saver.requests[0].suffix == "-oom");
}
