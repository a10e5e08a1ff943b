#include "app/front/run_table.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "holdfast/error.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::app;
using holdfast::test::TempFolder;

namespace {

void add_run(const TempFolder& folder, const std::string& home, const std::string& state, std::int64_t pid) {
  namespace fs = std::filesystem;
  fs::create_directories(folder / (home + "/g1"));
  fs::create_symlink("g1", folder / (home + "/current"));
  telemetry::Status status;
  status.run = home;
  status.state = state;
  status.update = 10;
  status.total_updates = 20;
  status.pid = pid;
  status.exit_code = state == "failed" ? std::optional<int>(65) : std::nullopt;
  status.scores = {{"accuracy", 0.975}};
  status.updated_at = "2026-11-30T10:15:00.000Z";
  REQUIRE(telemetry::write_status(folder / (home + "/g1"), status));
}

}  // namespace

TEST_CASE("all runs below a folder are listed by path, a dead process is not called running") {
  const TempFolder folder;
  add_run(folder, "b", "failed", 1);
  add_run(folder, "a/deep", "running", getpid());
  add_run(folder, "c", "running", 2147483646);
  std::filesystem::create_directories(folder / "no-run/empty");
  const auto rows = find_runs(folder.path());
  CHECK(run_table(rows) ==
        "RUN     STATE        UPDATE  EPOCH  SCORES          CHANGED\n"
        "a/deep  running      10/20   0      accuracy 0.975  2026-11-30T10:15:00Z\n"
        "b       failed (65)  10/20   0      accuracy 0.975  2026-11-30T10:15:00Z\n"
        "c       interrupted  10/20   0      accuracy 0.975  2026-11-30T10:15:00Z\n");
  const auto json = run_json(rows);
  CHECK(json.find("\"home\": \"a/deep\"") != std::string::npos);
  CHECK(json.find("\"process_gone\": true") != std::string::npos);
}

TEST_CASE("a run whose status cannot be read has a row all the same") {
  const TempFolder folder;
  add_run(folder, "a", "finished", 1);
  add_run(folder, "b", "finished", 1);
  test::write_text(folder / "b/g1/status.json", "{");
  CHECK(run_table(find_runs(folder.path())).find("b    unreadable") != std::string::npos);
  CHECK(run_json(find_runs(folder.path())).find("\"state\": \"unreadable\"") != std::string::npos);
}

TEST_CASE("a folder that is none is an error with its name") {
  CHECK_THROWS_WITH_AS(find_runs("/nonexistent"),
                       "/nonexistent: error[status.folder]: not a folder that can be read: No such file or "
                       "directory\n  hint: name the folder that holds your runs, usually `runs`",
                       Error);
}

TEST_CASE("a link current that leads out of its home, or to a link, is not followed") {
  const TempFolder folder;
  add_run(folder, "a", "finished", 1);
  std::filesystem::create_directories(folder / "b");
  std::filesystem::create_symlink("../a/g1", folder / "b/current");
  std::filesystem::create_directories(folder / "c");
  std::filesystem::create_symlink("../a/g1", folder / "c/g1");
  std::filesystem::create_symlink("g1", folder / "c/current");
  std::filesystem::create_symlink(".", folder / "loop");
  std::string states;
  for (const auto& row : find_runs(folder.path())) states += row.home + " " + row.status.state + "; ";
  CHECK(states == "a finished; b unreadable; c unreadable; ");
}

TEST_CASE("texts of a status are made harmless for the terminal") {
  const TempFolder folder;
  add_run(folder, "a", "\x1b[2Jx", 1);
  CHECK(run_table(find_runs(folder.path())).find('\x1b') == std::string::npos);
}
