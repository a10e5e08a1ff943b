// Saves in the background: the snapshot, one at a time, what failed, and what the end of a run waits for.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "engine/fixtures.hpp"
#include "engine/tensor_copies.hpp"
#include "holdfast/error.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

/// Holds what was begun until the test lets it through; `hold` is the number of looks that find it unfinished.
class SlowSaver : public MemorySaver {
 public:
  bool in_background() const override { return true; }
  void begin(const std::function<base::StateView()>& snapshot, const Request& request) override {
    REQUIRE(!begun_);
    base::StateView view = snapshot();
    if (no_room) throw std::bad_alloc();
    begun_ = {std::move(view), request};
    looks_ = 0;
  }
  std::optional<Settled> settle(bool wait) override {
    waited += wait && begun_;
    if (!begun_ || (!wait && looks_++ < hold)) return std::nullopt;
    const auto [view, request] = *std::exchange(begun_, std::nullopt);
    if (failures > 0) {
      --failures;
      return Settled{{}, Error(ExitCode::kIoError, "io.disk_full", "/runs", "the disk is full")};
    }
    behind.push_back(request.update);
    return Settled{MemorySaver::save(view, request), {}};
  }
  void note_present() override { ++present; }
  std::optional<std::string> wanted() override { return std::exchange(asked_outside, std::nullopt); }

  bool no_room = false;  ///< as if the copy did not fit
  int hold = 0, failures = 0, waited = 0, present = 0;
  std::vector<std::int64_t> behind;  ///< updates written in the background
  std::optional<std::string> asked_outside;

 private:
  std::optional<std::pair<base::StateView, Request>> begun_;
  int looks_ = 0;
};

struct Missing : Notes {
  void save_missed(std::int64_t update, std::string_view) override { missed.push_back(update); }
  std::vector<std::int64_t> missed;
};

/// A run of `windows` windows of one sample that asks for a save at every edge.
struct Behind {
  explicit Behind(std::int64_t windows) : data(TableDataset::constant(windows, 1)), bench(model, data) {
    bench.parts.saver = &saver;
    bench.parts.observer = &missing;
    bench.hook.on_window = [](const WindowReport&, Requests& requests) { requests.save("every window"); };
  }
  ProbeModel model;
  TableDataset data;
  Bench bench;
  SlowSaver saver;
  Missing missing;
};

float weight_in(const base::StateView& view) {
  float value = 0;
  std::memcpy(&value, view.model.at(0).bytes.data(), sizeof value);
  return value;
}

std::vector<std::int64_t> updates_of(const MemorySaver& saver) {
  std::vector<std::int64_t> updates;
  for (const auto& kept : saver.saves) updates.push_back(kept->request.update);
  return updates;
}

}  // namespace

TEST_CASE("C52: a snapshot holds the weights of its update, however many updates are applied while it is written") {
  Behind run(12);
  run.saver.hold = 3;
  CHECK(run.bench.run().code == ExitCode::kOk);
  REQUIRE(run.saver.behind.size() > 1);
  for (const auto& kept : run.saver.saves)
    CHECK(weight_in(kept->view) == -static_cast<float>(kept->request.update));  // gradient 1, rate 1
  CHECK(run.saver.saves.back()->request.reason == "end");
  CHECK(run.saver.saves.back()->request.update == 12);
}

TEST_CASE("C58: one save at a time: what is due meanwhile is left out and counted, and training goes on") {
  Behind run(12);
  run.saver.hold = 5;  // two looks an edge
  run.bench.run();
  CHECK(run.saver.behind == std::vector<std::int64_t>{1, 4, 7, 10});
  CHECK(run.missing.missed == std::vector<std::int64_t>{2, 3, 5, 6, 8, 9, 11});
  CHECK(updates_of(run.saver) == std::vector<std::int64_t>{1, 4, 7, 10, 12});
  std::vector<std::int64_t> told;
  for (const auto& report : run.bench.hook.saves) {
    CHECK(report.ok);
    told.push_back(report.update);
  }
  CHECK(told == updates_of(run.saver));
}

TEST_CASE("time until the next save counts from the snapshot, not from its end on the disk") {
  Behind run(6);
  run.saver.hold = 2;
  run.bench.run();
  REQUIRE(run.bench.hook.saves.size() > 1);
  CHECK(run.bench.hook.saves[0].now >= run.bench.hook.windows[0].now);
  CHECK(run.bench.hook.saves[0].now <= run.bench.hook.windows[1].now);
}

TEST_CASE("the end of a run waits for the save in hand and does not write the same state twice") {
  Behind run(4);
  run.saver.hold = 1000;
  run.bench.hook.on_window = [](const WindowReport& report, Requests& requests) {
    if (report.update == 2) requests.save("once");
  };
  run.bench.run();
  CHECK(updates_of(run.saver) == std::vector<std::int64_t>{2, 4});
  CHECK(run.saver.waited == 1);
  CHECK(run.saver.present == 1);
}

TEST_CASE("C100: a stop waits for the save in hand, and saves the present state after it") {
  Behind run(8);
  Signal signal;
  run.bench.parts.stop = &signal;
  run.saver.hold = 1000;
  run.bench.hook.on_window = [&](const WindowReport& report, Requests& requests) {
    if (report.update == 2) requests.save("once");
    signal.raised = report.update == 4;
  };
  CHECK(run.bench.run().code == ExitCode::kStoppedAfterSave);
  CHECK(updates_of(run.saver) == std::vector<std::int64_t>{2, 4});
  CHECK(run.saver.saves.back()->request.reason == "signal");
}

TEST_CASE("a save in the background that failed is told, and the same state is written again") {
  Behind run(2000);
  run.saver.failures = 1;
  run.bench.hook.on_window = [](const WindowReport& report, Requests& requests) {
    if (report.update == 2) requests.save("once");
    std::this_thread::sleep_for(std::chrono::microseconds(report.update < 1500 ? 900 : 0));
  };
  run.bench.run();
  CHECK(updates_of(run.saver) == std::vector<std::int64_t>{2, 2000});
  CHECK(weight_in(run.saver.saves.front()->view) == -2);
  REQUIRE(run.bench.hook.saves.size() == 3);
  CHECK(!run.bench.hook.saves[0].ok);
  CHECK(run.bench.hook.saves[1].ok);
  REQUIRE(!run.missing.notes.empty());
  CHECK(run.missing.notes[0] ==
        "the checkpoint of update 2 could not be written and the run goes on; it is tried again in 1 s: /runs: "
        "error[io.disk_full]: the disk is full");
}

TEST_CASE("where the recipe says so a failed save in the background ends the run with 74") {
  Behind run(8);
  run.saver.failures = 1;
  run.bench.parts.stop_on_save_error = true;
  ExitCode code = ExitCode::kOk;
  try {
    run.bench.run();
  } catch (const Error& error) {
    code = error.code();
  }
  CHECK(code == ExitCode::kIoError);
  CHECK(run.saver.saves.empty());
  CHECK(run.bench.hook.ended == std::vector<int>{74});
}

TEST_CASE("a request from outside is carried out at the next edge where nothing is being written") {
  Behind run(6);
  run.bench.hook.on_window = [&](const WindowReport& report, Requests&) {
    if (report.update == 2) run.saver.asked_outside = "request";
  };
  run.bench.run();
  CHECK(updates_of(run.saver) == std::vector<std::int64_t>{2, 6});
  CHECK(run.saver.saves.front()->request.reason == "request");
}

TEST_CASE("copies are kept from one save to the next, and made anew for a tensor that changed its shape") {
  engine::TensorCopies copies;
  NamedTensors tensors = {{"a", at::arange(6, at::kFloat).view({2, 3})},
                          {"t", at::arange(6, at::kInt).view({2, 3}).t()},
                          {"s", at::ones({}, at::kDouble)},
                          {"e", at::empty({0, 3})}};
  const auto first = copies.take(tensors);
  REQUIRE(first.size() == 4);
  CHECK(first[1].shape == std::vector<std::int64_t>{3, 2});
  CHECK(reinterpret_cast<const std::int32_t*>(first[1].bytes.data())[1] == 3);  // contiguous as it is saved
  tensors.get("a").fill_(7);
  CHECK(reinterpret_cast<const float*>(first[0].bytes.data())[1] == 1);
  const auto second = copies.take(tensors);
  CHECK(second[0].bytes.data() == first[0].bytes.data());
  CHECK(reinterpret_cast<const float*>(second[0].bytes.data())[1] == 7);
  const auto third = copies.take({{"b", at::zeros({4})}});
  REQUIRE(third.size() == 1);
  CHECK(third[0].name == "b");
  CHECK(third[0].bytes.size() == 16);
}

TEST_CASE("without host memory for a copy the state is written between two windows, and that is said once") {
  Behind run(4);
  run.saver.no_room = true;
  run.bench.run();
  CHECK(updates_of(run.saver) == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(run.saver.behind.empty());
  CHECK(std::count(run.missing.notes.begin(), run.missing.notes.end(),
                   "the host has no memory for a copy of the state: checkpoints are written between two windows from "
                   "now on") == 1);
}
