#include "telemetry/outcomes.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "telemetry/status.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::telemetry;
using holdfast::test::TempFolder;
using Counts = std::map<std::string, std::int64_t, std::less<>>;

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("attempts go on counting from one process to the next") {
  const TempFolder home;
  Outcomes at = begin_attempt(home.path(), "g1");
  CHECK(at.attempts.empty());
  end_attempt(home.path(), at, ExitCode::kOk, 1000);
  at = end_attempt(home.path(), begin_attempt(home.path(), "g2"), ExitCode::kDiverged, 2000);
  at = end_attempt(home.path(), begin_attempt(home.path(), "g2"), ExitCode::kDiverged, 3000);
  at = end_attempt(home.path(), begin_attempt(home.path(), "g2"), ExitCode::kStoppedAfterSave, 4000);
  CHECK(at.attempts == Counts{{"failed", 2}, {"preempted", 1}, {"succeeded", 1}});
  CHECK(at.last_success == 1000);
  CHECK(read(home / "outcomes.json") ==
        "{\n  \"schema\": 1,\n  \"open\": null,\n  \"attempts\": {\n    \"failed\": 2,\n    \"preempted\": 1,\n    "
        "\"succeeded\": 1\n  },\n  \"last_success\": 1000\n}\n");
}

TEST_CASE("an attempt that left no word counts as interrupted, one that left its exit code as that") {
  const TempFolder home;
  std::filesystem::create_directory(home / "g1");
  begin_attempt(home.path(), "g1");
  CHECK(begin_attempt(home.path(), "g1").attempts == Counts{{"interrupted", 1}});
  Status status;
  status.state = "failed";
  status.exit_code = 70;
  REQUIRE(write_status(home / "g1", status));
  const Outcomes at = begin_attempt(home.path(), "g1");
  CHECK(at.attempts == Counts{{"failed", 1}, {"interrupted", 1}});
}

TEST_CASE("a file that is none of ours counts from nothing, and leads nowhere") {
  const TempFolder home;
  for (const char* text :
       {"", "[]", "{\"attempts\":{\"failed\":-1,\"x\":1e9,\"y\":\"z\"},\"last_success\":-5,\"open\":7}",
        "{\"attempts\":[],\"failures\":3", "{\"last_success\":99999999999999999}"}) {
    std::ofstream(home / "outcomes.json") << text;
    const Outcomes at = begin_attempt(home.path(), "g");
    CHECK_MESSAGE(at.attempts.empty(), text);
    CHECK(at.last_success == 0);
  }
  std::ofstream(home / "outcomes.json") << "{\"open\":\"../../etc\"}";
  CHECK(begin_attempt(home.path(), "g").attempts == Counts{{"interrupted", 1}});
}

TEST_CASE("a home that cannot be written still gives counts") {
  const Outcomes at = end_attempt("/proc/none", begin_attempt("/proc/none", "g"), ExitCode::kOk, 7);
  CHECK(at.attempts == Counts{{"succeeded", 1}});
}
