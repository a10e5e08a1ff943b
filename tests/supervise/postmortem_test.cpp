// The forms of a verdict: text, short text, JSON and the kept file.
#include "supervise/postmortem.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <random>

#include "temp_folder.hpp"
#include "verdict_fixture.hpp"

using namespace holdfast::supervise;
using namespace holdfast::test;

namespace {

Verdict some_verdict() {
  Evidence at = ended_by(SIGKILL);
  add_kernel_kill(at, kPid);
  return judge(at);
}

}  // namespace

TEST_CASE("the text: verdict, place, evidence, what to do") {
  CHECK(verdict_text(some_verdict()) ==
        "host_oom (exit 88): killed by the kernel because memory ran out within its control group\n"
        "  where      /runs/a/20261130T101500Z-3f2a\n"
        "  attempt    1, update 42, training, newest checkpoint 30, last seen 2027-01-15T07:59:55.000Z\n"
        "  evidence   kernel: Killed process 4711 (holdfast-worker)\n"
        "  do         raise the memory limit of the job or container, or lower memory.host_budget, loader.prefetch or "
        "batch_size\n");
}

TEST_CASE("a likely cause is called likely, and an unknown one is not called more than it is") {
  Evidence at = silent_death();
  CHECK(verdict_text(judge(at)).starts_with(
      "not known; at least killed_unknown (exit 86): it ended without a word; nothing tells why\n"));
  at.boot_id = "boot-2";
  CHECK(verdict_text(judge(at)).starts_with("likely host_reboot (exit 75): "));
}

TEST_CASE("control characters of names and messages never reach the terminal") {
  Evidence at = last_word(70, "plugin '\x1b[2J\n': forward threw");
  CHECK(verdict_text(judge(at)).find('\x1b') == std::string::npos);
}

TEST_CASE("the short text keeps to its limit, drops what matters least first, and cuts between characters") {
  Verdict at = some_verdict();
  for (int i = 0; i < 100; ++i) {
    at.unread.push_back("source " + std::to_string(i) + std::string(60, '.'));
    at.evidence.push_back("evidence " + std::to_string(i) + std::string(60, '.'));
  }
  const std::string text = short_text(at);
  CHECK(text.size() <= 4096);
  CHECK(text.find("not read") == std::string::npos);
  CHECK(text.find("evidence 1.") != std::string::npos);
  CHECK(text.find("  do         raise") != std::string::npos);
  Verdict wide;
  wide.cause = Cause::kKilled;
  for (int i = 0; i < 3000; ++i) wide.sentence += "\xc3\xa4";
  const std::string cut = short_text(wide);
  CHECK(cut.size() <= 4096);
  CHECK(cut.size() >= 4095);
  CHECK(cut.ends_with("\xc3\xa4"));
}

TEST_CASE("JSON has every field, and is read back as it was") {
  const Verdict at = some_verdict();
  const auto object = nlohmann::json::parse(verdict_json(at));
  for (const char* key :
       {"schema", "cause", "certainty", "exit_code", "signal", "sentence", "evidence", "unread", "advice", "domain",
        "outlook", "generation", "attempt", "pid", "state", "phase", "update", "checkpoint", "last_seen"})
    CHECK_MESSAGE(object.contains(key), key);
  CHECK(object["cause"] == "host_oom");
  CHECK(object["domain"] == "infrastructure");
  CHECK(object["outlook"] == "may");
  const auto back = parse_verdict(verdict_json(at));
  REQUIRE(back);
  CHECK(back->cause == at.cause);
  CHECK(back->evidence == at.evidence);
  CHECK(back->signal == SIGKILL);
}

TEST_CASE("any text in place of a verdict is refused or read, and never crashes") {
  const std::string seed = verdict_json(some_verdict());
  CHECK_FALSE(parse_verdict(""));
  CHECK_FALSE(parse_verdict("[]"));
  CHECK_FALSE(parse_verdict("{\"schema\":2}"));
  CHECK_FALSE(parse_verdict("{\"schema\":1,\"cause\":\"none\",\"certainty\":\"likely\",\"pid\":\"x\"}"));
  CHECK_FALSE(parse_verdict(std::string(20000, '[')));
  std::mt19937_64 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string text = seed;
    for (int i = 0; i < 1 + round % 5; ++i) text[random() % text.size()] = static_cast<char>(random());
    (void)parse_verdict(text);
  }
}

TEST_CASE("a kept verdict is found again for its process alone") {
  const TempFolder folder;
  Verdict at = some_verdict();
  at.generation = folder.path();
  REQUIRE(keep_verdict(at));
  REQUIRE(kept_verdict(folder.path(), kPid));
  CHECK(kept_verdict(folder.path(), kPid)->sentence == at.sentence);
  CHECK_FALSE(kept_verdict(folder.path(), 1));
  CHECK_FALSE(kept_verdict("/nonexistent", kPid));
  at.generation = "/nonexistent";
  CHECK_FALSE(keep_verdict(at));
}
