#include "report/history.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace holdfast::report;

namespace {

History of(std::initializer_list<const char*> lines) {
  History history;
  for (const char* line : lines) {
    const auto event = read_record(line);
    REQUIRE(event);
    history.take(*event);
  }
  return history;
}

}  // namespace

TEST_CASE("attempts are told with where they began, how far they came and how they ended") {
  const History history = of({
      R"({"time":"2026-11-30T10:00:00Z","event":"start","attempt":1,"update":0,"host":"a"})",
      R"({"time":"2026-11-30T10:00:05Z","event":"update","attempt":1,"update":30,"loss":2})",
      R"({"time":"2026-11-30T11:00:00Z","event":"resume","attempt":2,"update":20,"from":"update-000000020","host":"b"})",
      R"({"time":"2026-11-30T11:00:09Z","event":"update","attempt":2,"update":90,"loss":1})",
      R"({"time":"2026-11-30T11:00:10Z","event":"end","attempt":2,"update":100,"exit_code":0,"state":"finished","reason":"done"})",
  });
  REQUIRE(history.attempts.items().size() == 2);
  const Attempt &first = history.attempts.items()[0], &second = history.attempts.items()[1];
  CHECK(first.last_update == 30);
  CHECK_FALSE(first.exit_code);
  CHECK(*first.last - *first.begun == 5);
  CHECK(second.from == "update-000000020");
  CHECK(second.first_update == 20);
  CHECK(second.last_update == 100);
  CHECK(second.exit_code == 0);
  CHECK(second.reason == "done");
  CHECK(history.facts.text("host") == "b");
  CHECK(history.loss.points().size() == 2);
  CHECK(history.highest_update == 100);
}

TEST_CASE("updates give curves and stages, evaluations scores, skips and saves their lists") {
  const History history = of({
      R"({"event":"start","attempt":1,"update":0,"memory_budget_bytes":4096})",
      R"({"event":"update","attempt":1,"update":10,"windows":10,"loss":null,"data_wait_seconds":1,"forward_seconds":2,)"
      R"("backward_seconds":4,"optimizer_seconds":1,"slowest_seconds":1.5,"memory_peak":1000})",
      R"({"event":"eval","attempt":1,"update":10,"best":true,"loss":0.5,"accuracy":0.75})",
      R"({"event":"checkpoint","attempt":1,"update":10,"path":"/x/update-000000010","reason":"end","ok":true,"seconds":0.25})",
      R"({"event":"checkpoint","attempt":1,"update":11,"path":"","reason":"periodic","ok":false,"seconds":0.25})",
      R"({"event":"skip","attempt":1,"what":"sample","source":"s","index":7,"epoch":1,"reason":"torn"})",
      R"({"event":"skip","attempt":1,"what":"window","update":12,"loss":null})",
      R"({"event":"oom","attempt":1,"update":13,"phase":"forward","text":"no room","action":"halved"})",
      R"({"event":"lost","attempt":1,"lines":4})",
  });
  CHECK(history.loss.empty());
  CHECK(history.update_time.points().at(0).y == doctest::Approx(0.8));
  CHECK(history.stages.backward == 4);
  CHECK(history.stages.checkpoint == doctest::Approx(0.5));
  CHECK(history.scores.at("accuracy").points().at(0).y == 0.75);
  CHECK_FALSE(history.scores.contains("best"));
  CHECK(history.budget == 4096.0);
  CHECK(history.checkpoints.items()[0].name == "update-000000010");
  CHECK(history.failed_checkpoints == 1);
  CHECK(history.samples.items()[0].index == 7);
  CHECK(history.dropped.items()[0] == 12);
  CHECK(history.lost == 4);
  REQUIRE(history.happenings.items().size() == 2);
  CHECK(history.happenings.items()[0].text == "phase forward, no room, halved");
}

TEST_CASE("events of a later version are kept as they read, those without an attempt too") {
  const History history = of({R"({"event":"moved","update":5,"to":"gpu","share":0.5})", R"({"no":"event"})"});
  CHECK(history.happenings.items()[0].text == "to gpu, share 0.5");
  CHECK(history.attempts.items().size() == 1);
  CHECK(history.events == 1);
}

TEST_CASE("lists and scores are bounded, their totals are not") {
  History history;
  for (int i = 0; i < 5000; ++i) {
    const std::string n = std::to_string(i);
    history.take(*read_record("{\"event\":\"eval\",\"attempt\":" + n + ",\"update\":1,\"score" + n + "\":1}"));
    history.take(*read_record("{\"event\":\"skip\",\"what\":\"sample\",\"index\":" + n + "}"));
  }
  CHECK(history.scores.size() == History::kMostScores);
  CHECK(history.samples.items().size() == 40);
  CHECK(history.samples.total() == 5000);
  CHECK(history.samples.items().back().index == 4999);
  CHECK(history.attempts.items().size() == 60);
}
