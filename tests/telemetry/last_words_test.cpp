// What a process leaves that ends without unwinding. Each case in a forked child: it speaks once a process.
#include "telemetry/last_words.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::telemetry;

namespace {

void in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
}

Status running() {
  Status at;
  at.run = "a \"run\"\n  \"cause\": 1,";
  at.update = 120;
  at.attempt = 2;
  at.scores = {{"accuracy", 0.5}};
  at.started_at = at.updated_at = "2026-11-30T10:15:00.250Z";
  return at;
}

}  // namespace

TEST_CASE("the last words replace the status and end the events, whatever the run is called") {
  const test::TempFolder folder;
  const std::string home = folder.path();
  write_status(home, running());
  test::write_text(folder / "events.jsonl", "{\"event\":\"start\"}\n");
  in_child([&] {
    prepare_last_words(home, Status{});
    prepare_last_words(home, running());
    speak_last_words(70, "plugin 'x': said \"no\"\t\\");
    speak_last_words(87, "too late");
  });
  const auto told = read_status(home);
  REQUIRE(told);
  CHECK(told->state == "failed");
  CHECK(told->exit_code == 70);
  CHECK(told->cause == "plugin 'x': said \"no\"?\\");
  CHECK(told->run == running().run);
  CHECK(told->update == 120);
  CHECK(told->scores == running().scores);
  CHECK(told->ended_at.size() == std::string("2026-11-30T10:15:00Z").size());
  CHECK(told->ended_at > "2026");

  const std::string events = test::read_text(folder / "events.jsonl");
  const auto line = nlohmann::json::parse(events.substr(events.find('\n') + 1));
  CHECK(line["event"] == "end");
  CHECK(line["attempt"] == 2);
  CHECK(line["update"] == 120);
  CHECK(line["exit_code"] == 70);
  CHECK(line["state"] == "failed");
  CHECK(line["reason"] == told->cause);
  CHECK(line["time"] == told->ended_at);
}

TEST_CASE("a stop after saving is told as stopped, and a forgotten run says nothing") {
  const test::TempFolder folder;
  const std::string home = folder.path();
  in_child([&] {
    prepare_last_words(home, running());
    speak_last_words(75, "SIGTERM");
  });
  REQUIRE(read_status(home));
  CHECK(read_status(home)->state == "stopped");
  CHECK(write_status(home, running()));
  in_child([&] {
    prepare_last_words(home, running());
    forget_last_words();
    speak_last_words(70, "no");
  });
  CHECK(read_status(home)->state == "running");
  in_child([] { speak_last_words(70, "nobody prepared"); });
}

TEST_CASE("a status or a folder without room is not remembered") {
  const test::TempFolder folder;
  const std::string home = folder.path();
  in_child([&] {
    Status large = running();
    large.generation = std::string(100'000, 'g');
    prepare_last_words(home, large);
    prepare_last_words("/" + std::string(5000, 'f'), running());
    speak_last_words(70, "no");
  });
  CHECK_FALSE(read_status(home));
}
