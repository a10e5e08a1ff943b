#include "telemetry/life_signs.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::telemetry;
using holdfast::test::TempFolder;
using namespace std::chrono_literals;

namespace {

struct Stage {
  Stage() {
    REQUIRE(pipe(ends) == 0);
    base::LogOptions options;
    options.descriptor = ends[1];
    log = std::make_unique<base::RunLog>(options, clock);
    settings.folder = folder.path();
    settings.run = "digits";
    settings.generation = "20261130T101500Z-3f2a";
    settings.log = log.get();
    settings.clock = &clock;
    settings.console_file = ends[1];
  }
  ~Stage() { close(ends[0]), close(ends[1]); }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  [[nodiscard]] std::vector<std::string> events() const {
    std::ifstream file(folder.path() + "/events.jsonl");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }
  [[nodiscard]] std::string said() const {
    char text[4096];
    write(ends[1], "|", 1);
    const ssize_t size = read(ends[0], text, sizeof text);
    return {text, static_cast<std::size_t>(size - 1)};
  }

  TempFolder folder;
  base::FakeClock clock{base::WallTime(std::chrono::seconds(1796033700))};
  int ends[2]{};
  std::unique_ptr<base::RunLog> log;
  LifeSignsSettings settings;
};

WindowReport window(std::int64_t update, double loss, Duration now) {
  WindowReport report;
  report.update = report.window = update;
  report.applied = true;
  report.loss = loss;
  report.grad_norm = 1;
  report.learning_rate = 0.001;
  report.now = now;
  return report;
}

}  // namespace

TEST_CASE("update events come at most once a second and carry means since the last one") {
  Stage stage;
  LifeSigns signs(stage.settings);
  signs.started({0, 0, 0, 100, 10, ""});
  signs.window(window(1, 1.0, 5ms), 32, {});
  signs.window(window(2, 2.0, 300ms), 64, {});
  signs.window(window(3, 4.0, 600ms), 96, {});
  signs.window(window(4, 6.0, 1005ms), 128, {});
  const auto events = stage.events();
  REQUIRE(events.size() == 3);
  CHECK(events[0].find("\"event\":\"start\"") != std::string::npos);
  CHECK(events[1].find("\"update\":1,\"epoch\":0,\"windows\":1,\"loss\":1,") != std::string::npos);
  CHECK(events[2].find("\"update\":4,\"epoch\":0,\"windows\":3,\"loss\":4,\"grad_norm\":1,\"learning_rate\":0.001,"
                       "\"updates_per_second\":") != std::string::npos);
}

TEST_CASE("an update event carries the highest memory of the micro-batches that were looked at since the last one") {
  Stage stage;
  LifeSigns signs(stage.settings);
  signs.started({0, 0, 0, 100, 10, ""});
  signs.window(window(1, 1.0, 5ms), 32, {});
  signs.micro_batch_memory(100, 300, 512);
  signs.window(window(2, 2.0, 300ms), 64, {});
  signs.micro_batch_memory(120, 250, 512);
  signs.window(window(3, 4.0, 1005ms), 96, {});
  signs.window(window(4, 4.0, 2010ms), 128, {});
  const auto events = stage.events();
  REQUIRE(events.size() == 4);
  CHECK(events[1].find("memory_") == std::string::npos);
  CHECK(events[2].find("\"memory_allocated\":120,\"memory_peak\":300,\"memory_reserved\":512,") != std::string::npos);
  CHECK(events[3].find("memory_") == std::string::npos);
}

TEST_CASE("updates and skips of a scaled loss tell the scale, others do not speak of it") {
  Stage stage;
  LifeSigns signs(stage.settings);
  signs.started({0, 0, 0, 100, 10, ""});
  WindowReport scaled = window(1, 1.0, 5ms);
  scaled.loss_scale = 65536;
  signs.window(scaled, 32, {});
  scaled.applied = false;
  signs.window(scaled, 64, {});
  signs.window(window(2, 1.0, 1500ms), 96, {});
  const auto events = stage.events();
  REQUIRE(events.size() == 4);
  CHECK(events[1].find("\"learning_rate\":0.001,\"loss_scale\":65536,") != std::string::npos);
  CHECK(events[2].find("\"event\":\"skip\"") != std::string::npos);
  CHECK(events[2].find("\"loss_scale\":65536") != std::string::npos);
  CHECK(events[3].find("loss_scale") == std::string::npos);
}

TEST_CASE("the status says running at the start, where the run is at each beat, and how it ended") {
  Stage stage;
  LifeSigns signs(stage.settings);
  signs.started({0, 0, 0, 100, 10, ""});
  CHECK(read_status(stage.folder.path())->state == "running");
  CHECK(read_status(stage.folder.path())->pid == getpid());
  signs.window(window(1, 1.0, 5ms), 32, {});
  CHECK(read_status(stage.folder.path())->update == 1);
  signs.window(window(2, 1.0, 6ms), 64, {});
  CHECK(read_status(stage.folder.path())->update == 1);
  signs.ended(ExitCode::kStoppedAfterSave, "SIGTERM from pid 1");
  signs.ended(ExitCode::kOk, "only the first word counts");
  const auto last = read_status(stage.folder.path());
  CHECK(last->state == "stopped");
  CHECK(last->update == 2);
  CHECK(last->samples_seen == 64);
  CHECK(last->exit_code == 75);
  CHECK(last->cause == "SIGTERM from pid 1");
  CHECK_FALSE(last->ended_at.empty());
}

TEST_CASE("a second attempt keeps the start of the generation and starts its events with resume") {
  Stage stage;
  {
    LifeSigns first(stage.settings);
    first.started({0, 0, 0, 100, 10, ""});
  }
  const auto started = read_status(stage.folder.path())->started_at;
  stage.clock.advance(60s);
  stage.settings.attempt = 2;
  LifeSigns second(stage.settings);
  second.started({40, 4, 400, 100, 10, "checkpoints/update-000000040"});
  const auto status = read_status(stage.folder.path());
  CHECK(status->started_at == started);
  CHECK(status->attempt_at != started);
  CHECK(status->attempt == 2);
  CHECK(stage.events().back().find("\"event\":\"resume\",\"attempt\":2,\"update\":40") != std::string::npos);
}

TEST_CASE("away from a terminal there is a line every 30 seconds") {
  Stage stage;
  LifeSigns signs(stage.settings);
  signs.started({0, 0, 0, 100, 10, ""});
  for (int second = 1; second < 30; ++second) signs.window(window(second, 1.0, second * 1s), 32, {});
  CHECK(stage.said().empty());
  signs.window(window(30, 0.5, 30s), 32, {});
  CHECK(stage.said().find("update 30/100 (30 %), epoch 1, loss 0.5000, 1.00 updates/s") != std::string::npos);
}

TEST_CASE("C105: skipped samples are told ten times and then only counted") {
  Stage stage;
  LifeSigns signs(stage.settings);
  for (int sample = 0; sample < 1000; ++sample) signs.sample_skipped({"a.idx", sample, 0, "label 12 is outside 0..9"});
  CHECK(stage.events().size() == 10);
  CHECK(stage.said().find("skipped sample 9 of a.idx: label 12 is outside 0..9 (further skips are only counted)") !=
        std::string::npos);
  CHECK(signs.status().skipped_samples == 1000);
}

TEST_CASE("a rollback is told, and the run stands where it went back to") {
  Stage stage;
  LifeSigns signs(stage.settings);
  signs.started({0, 0, 0, 100, 10, ""});
  signs.window(window(20, 1.0, 1s), 640, {});
  signs.rolled_back({20, 10, 18, 2, "spike", "the loss jumped"}, 1, 320);
  CHECK(
      stage.events().back().find(
          R"("event":"rollback","attempt":1,"from_update":20,"to_update":10,"first_window":19,"windows":2,"kind":"spike","reason":"the loss jumped")") !=
      std::string::npos);
  CHECK(
      stage.said().find("rolled back from update 20 to update 10, leaving out 2 windows from 19 on: the loss jumped") !=
      std::string::npos);
  signs.ended(ExitCode::kOk, "done");
  CHECK(signs.status().update == 10);
  CHECK(signs.status().epoch == 1);
  CHECK(signs.status().samples_seen == 320);
}

TEST_CASE("a notice of preemption is an event of its own") {
  Stage stage;
  LifeSigns signs(stage.settings);
  signs.started({0, 0, 0, 100, 10, ""});
  signs.preempted("file", "preemption notice: the file /x is there");
  CHECK(
      stage.events().back().find(
          R"("event":"preemption","attempt":1,"update":0,"source":"file","why":"preemption notice: the file /x is there")") !=
      std::string::npos);
}

TEST_CASE("a checkpoint that was refused tells why in its event") {
  Stage stage;
  LifeSigns signs(stage.settings);
  SaveReport report;
  report.update = 5;
  report.refused = true;
  report.fault = "element 3 is not finite";
  signs.saved(report);
  CHECK(stage.events().back().find(R"("ok":false,"seconds":0,"fault":"element 3 is not finite")") != std::string::npos);
  CHECK(stage.said().empty());  // whoever refused has said so
}

TEST_CASE("a folder that cannot be written is told once and stops nothing") {
  Stage stage;
  stage.settings.folder = "/nonexistent";
  LifeSigns signs(stage.settings);
  signs.started({0, 0, 0, 100, 10, ""});
  signs.window(window(1, 1.0, 5ms), 32, {});
  signs.ended(ExitCode::kOk, "target of 1 update reached");
  const std::string said = stage.said();
  CHECK(said.find("warning: events.jsonl cannot be written (No such file or directory); training goes on, lost events "
                  "are counted") != std::string::npos);
  CHECK(said.find("events.jsonl", said.find("events.jsonl") + 1) == std::string::npos);
  CHECK(signs.lost_events() == 3);
}

TEST_CASE(
    "what the run's state recalls stands in the next status; no scores say nothing, a forgotten best is forgotten") {
  Stage stage;
  {
    LifeSigns killed(stage.settings);
    killed.started({0, 0, 0, 100, 10, ""});
    killed.evaluated({5, {{"loss", 0.5}}}, true);
    killed.window(window(6, 1.0, 2s), 32, {});
  }
  stage.settings.attempt = 2;
  LifeSigns signs(stage.settings);
  const auto told = [&] { return read_status(stage.folder.path()).value(); };
  signs.recall(7, 0.25, {});
  signs.started({9, 0, 0, 100, 10, "update-000000009"});
  CHECK(told().best_update == 7);
  CHECK(told().best_metric == 0.25);
  CHECK(told().scores == std::vector<std::pair<std::string, double>>{{"loss", 0.5}});
  signs.recall(0, std::nullopt, {{"loss", 0.75}});
  CHECK(told().best_update == 7);  // the file changes with the next life sign
  signs.ended(ExitCode::kOk, "done");
  CHECK(told().best_update == 0);
  CHECK(!told().best_metric);
  CHECK(told().scores == std::vector<std::pair<std::string, double>>{{"loss", 0.75}});
}

TEST_CASE("the first event tells what trains and where, update events where the time and the memory went") {
  Stage stage;
  stage.settings.facts = {{"version", std::string("0.1.0")}, {"memory_budget_bytes", std::int64_t{4096}}};
  LifeSigns signs(stage.settings);
  signs.started({0, 0, 0, 100, 10, ""});
  signs.window(window(1, 1.0, 5ms), 32, {});
  signs.window(window(2, 1.0, 300ms), 64, {10ms, 20ms, 40ms, 5ms, 70ms});
  signs.window(window(3, 1.0, 1005ms), 96, {10ms, 20ms, 40ms, 5ms, 80ms});
  const auto events = stage.events();
  REQUIRE(events.size() == 3);
  CHECK(events[0].ends_with(",\"version\":\"0.1.0\",\"memory_budget_bytes\":4096}"));
  CHECK(events[2].find(",\"resident_bytes\":") != std::string::npos);
  CHECK(
      events[2].ends_with("\"data_wait_seconds\":0.02,\"forward_seconds\":0.04,\"backward_seconds\":0.08,"
                          "\"optimizer_seconds\":0.01,\"slowest_seconds\":0.09}"));
}

TEST_CASE("C58: checkpoints left out are told once in words, and as one event with the next that is there") {
  Stage stage;
  LifeSigns signs(stage.settings);
  signs.started({0, 0, 0, 100, 10, ""});
  for (const std::int64_t update : {2, 3, 4}) signs.save_missed(update, "every 1 update");
  signs.saved({1, "/runs/x/checkpoints/update-000000001", "every 1 update", true, 3s, 1s});
  signs.save_missed(6, "every 1 update");
  signs.saved({5, "/runs/x/checkpoints/update-000000005", "every 1 update", true, 3s, 5s});
  signs.saved({7, "/runs/x/checkpoints/update-000000007", "end", true, 3s, 9s});
  std::vector<std::string> skips;
  for (const auto& line : stage.events())
    if (line.find("\"skip\"") != std::string::npos) skips.push_back(line.substr(line.find("\"what\"")));
  CHECK(skips == std::vector<std::string>{R"("what":"checkpoint","update":2,"reason":"every 1 update","missed":3})",
                                          R"("what":"checkpoint","update":6,"reason":"every 1 update","missed":4})"});
  const std::string said = stage.said();
  CHECK(
      said.find("the checkpoint of update 2 is left out: the one before is still being written (further ones are only "
                "counted)") != std::string::npos);
  CHECK(said.find("of update 6 is left out") == std::string::npos);
}
