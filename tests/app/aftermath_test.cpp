// What the front finds of a dead attempt on disk, keeps of it, and counts.
#include "app/front/aftermath.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "app/front/why.hpp"
#include "holdfast/error.hpp"
#include "telemetry/status.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::app;
using test::TempFolder;

namespace {

constexpr const char* kName = "20261130T101500Z-3f2a";

/// A home with one generation whose status is this.
std::string home_with(const TempFolder& folder, telemetry::Status status) {
  const std::string home = folder / "home";
  std::filesystem::create_directories(home + "/" + kName + "/checkpoints");
  std::filesystem::create_symlink(kName, home + "/current");
  test::write_text(home + "/lock", "");
  REQUIRE(telemetry::write_status(home + "/" + kName, status));
  return home;
}

telemetry::Status died(std::int64_t pid) {
  telemetry::Status status;
  status.state = "running";
  status.pid = pid;
  status.update = 12;
  status.attempt = 2;
  return status;
}

}  // namespace

TEST_CASE("a trace tells status, checkpoint and lock; a folder without a generation gives an empty one") {
  const TempFolder folder;
  const std::string home = home_with(folder, died(4711));
  auto trace = trace_of(home);
  CHECK(trace.generation == std::filesystem::canonical(home).string() + "/" + kName);
  CHECK(trace.state == "running");
  CHECK(trace.pid == 4711);
  CHECK(trace.attempt == 2);
  CHECK(trace.checkpoint == -1);
  CHECK_FALSE(trace.locked);
  const int lock = ::open((home + "/lock").c_str(), O_RDWR);
  REQUIRE(::flock(lock, LOCK_EX) == 0);
  CHECK(trace_of(home).locked);
  ::close(lock);
  CHECK_FALSE(trace_of(home).locked);
  CHECK(trace_of(folder / "none").generation.empty());
}

TEST_CASE("a dead attempt is kept and counted once, whoever looks") {
  const TempFolder folder;
  const supervise::RealSystem system;
  const std::string home = home_with(folder, died(4711));
  settle(system, trace_of(home));
  settle(system, trace_of(home));
  CHECK(read_failures(home).failures == std::map<std::string, std::int64_t>{{"killed_unknown", 1}});
  CHECK(verdict_on(system, trace_of(home)).pid == 4711);
  telemetry::Status next = died(4712);
  REQUIRE(telemetry::write_status(home + "/" + kName, next));
  settle(system, trace_of(home));
  CHECK(read_failures(home).failures == std::map<std::string, std::int64_t>{{"killed_unknown", 2}});
}

TEST_CASE("a stop that was saved is no failure; one without a checkpoint is") {
  const TempFolder folder, other;
  const supervise::RealSystem system;
  telemetry::Status status = died(4711);
  status.state = "stopped";
  status.exit_code = 75;
  status.cause = "SIGTERM from pid 1";
  const std::string home = home_with(folder, status);
  settle(system, trace_of(home));
  CHECK(read_failures(home).failures.empty());
  status.state = "failed";
  status.exit_code = 87;
  const std::string lost = home_with(other, status);
  settle(system, trace_of(lost));
  CHECK(read_failures(lost).failures == std::map<std::string, std::int64_t>{{"stopped", 1}});
}

TEST_CASE("what the parent kept wins over what a later reader could find out") {
  const TempFolder folder;
  const supervise::RealSystem system;
  const std::string home = home_with(folder, died(4711));
  supervise::Verdict kept;
  kept.cause = supervise::Cause::kHostMemory;
  kept.exit_code = 88;
  kept.pid = 4711;
  kept.generation = trace_of(home).generation;
  settle(kept);
  CHECK(verdict_on(system, trace_of(home)).cause == supervise::Cause::kHostMemory);
  CHECK(why_of(system, home).text.starts_with("host_oom (exit 88): "));
}

TEST_CASE("while a run is up, why says so and tells the attempt before it") {
  const TempFolder folder;
  const supervise::RealSystem system;
  const std::string home = home_with(folder, died(4711));
  settle(system, trace_of(home));
  REQUIRE(telemetry::write_status(home + "/" + kName, died(4712)));
  const int lock = ::open((home + "/lock").c_str(), O_RDWR);
  REQUIRE(::flock(lock, LOCK_EX) == 0);
  const auto why = why_of(system, home);
  CHECK(why.text.starts_with("still running: process 4712\n"));
  CHECK(why.text.find("the attempt before it: not known; at least killed_unknown (exit 86): ") != std::string::npos);
  ::close(lock);
}

TEST_CASE("restarts are counted by cause, and a damaged file of counts is nothing") {
  const TempFolder folder;
  const std::string home = home_with(folder, died(1));
  count_restart(home, "crash");
  count_restart(home, "crash");
  CHECK(read_failures(home).restarts == std::map<std::string, std::int64_t>{{"crash", 2}});
  for (const char* text : {"", "[", "[]", "{\"failures\":3}", "{\"failures\":{\"crash\":-1,\"hang\":\"x\"}}"}) {
    test::write_text(home + "/failures.json", text);
    CHECK(read_failures(home).failures.empty());
  }
  count_restart(folder / "none", "crash");  // must not throw
}

TEST_CASE("why refuses what is no run, with 66") {
  const TempFolder folder;
  const supervise::RealSystem system;
  CHECK(test::error_text<Error>([&] { (void)why_of(system, folder.path()); }).find("error[home.none]") !=
        std::string::npos);
}
