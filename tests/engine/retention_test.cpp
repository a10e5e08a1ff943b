// What a run keeps of its updates: nothing, however often and whatever a model returns.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "device/allocator.hpp"
#include "device/domain_pool.hpp"
#include "engine/fixtures.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

/// Gives, beside its loss, figures that hang on the graph, and scores made of them.
class Talkative : public ProbeModel {
 public:
  Outputs forward(const Batch& batch, Segments& segments) override {
    Outputs outputs = ProbeModel::forward(batch, segments);
    outputs.push_back({"penalty", (w * 2 + batch.fields.get("value").mean()).square()});
    seen.clear(), evaluated.clear(), modes.clear();
    return outputs;
  }
  at::Tensor loss(const Outputs& outputs, const Batch&) override {
    return outputs.get("sum") + outputs.get("penalty") * 0.001;
  }
  void score(const Outputs& outputs, const Batch&, Scores& scores) const override {
    scores.add("penalty", outputs.get("penalty").detach().item<double>(), 1);
  }
};

std::int64_t resident() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, pages = 0;
  file >> total >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

struct Watch : Hook {
  void window_end(const WindowReport& report, Requests&) override {
    if (report.update < 500 || report.update % 100) return;
    const auto device = device::pool_of(device::Domain::kDevice).reading().allocated;
    const auto host = device::pool_of(device::Domain::kHost).reading().allocated;
    if (device_first < 0) device_first = device, resident_first = resident();
    device_differs = device_differs || device != device_first;
    host_most = std::max(host_most, host);
    resident_last = resident();
  }
  std::int64_t device_first = -1, resident_first = 0, resident_last = 0, host_most = 0;
  bool device_differs = false;
};

}  // namespace

TEST_CASE("C80: 5000 updates of a model whose figures hang on the graph keep no tensor and let nothing grow") {
  device::install_allocator();
  Talkative model;
  const TableDataset data = TableDataset::constant(64, 1);
  Bench bench(model, data);
  Watch watch;
  bench.parts.hooks = {{"hook.watch", &watch}};
  bench.parts.eval = &data;
  bench.parts.saver = nullptr;
  bench.micro(2);
  auto& settings = bench.parts.settings;
  settings.epochs.reset();
  settings.updates = 5000;
  settings.batch_size = 4;
  settings.eval_batch_size = 16;
  settings.eval_every = {Interval::Unit::kUpdates, 50, {}};
  settings.optimizer.lr = 1e-6;
  CHECK(bench.run().progress.update == 5000);
  CHECK(watch.device_first > 0);
  CHECK_FALSE(watch.device_differs);
  CHECK(watch.host_most < 64 * 1024);
  CHECK(watch.resident_last - watch.resident_first < 2 << 20);
}
