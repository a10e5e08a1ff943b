#include "telemetry/status.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "temp_folder.hpp"

using namespace holdfast::telemetry;
using holdfast::test::TempFolder;

namespace {

Status example() {
  Status at;
  at.run = "mnist";
  at.generation = "20261130T101500Z-3f2a";
  at.state = "stopped";
  at.update = 120;
  at.total_updates = 360;
  at.updates_per_epoch = 24;
  at.epoch = 5;
  at.samples_seen = 7680;
  at.attempt = 2;
  at.pid = 41;
  at.exit_code = 75;
  at.cause = "SIGTERM from pid 1";
  at.loss = 0.25;
  at.scores = {{"loss", 0.5}, {"accuracy", 0.75}};
  at.metrics_url = "http://127.0.0.1:9464/metrics";
  at.started_at = "2026-11-30T10:15:00.000Z";
  return at;
}

}  // namespace

TEST_CASE("a status survives the way through its file") {
  const holdfast::test::TempFolder folder;
  REQUIRE(write_status(folder.path(), example()));
  const auto back = read_status(folder.path());
  REQUIRE(back.has_value());
  CHECK(to_json(*back) == to_json(example()));
  CHECK(back->exit_code == 75);
  CHECK(back->scores.at(1).second == 0.75);
}

TEST_CASE("non-finite numbers become null: the file is strict JSON") {
  Status at = example();
  at.loss = std::nan("");
  at.scores = {{"loss", INFINITY}};
  const std::string text = to_json(at);
  CHECK(text.find("\"loss\": null") != std::string::npos);
  CHECK(text.find("nan") == std::string::npos);
  CHECK(text.find("inf") == std::string::npos);
  CHECK(parse_status(text).has_value());
}

TEST_CASE("what is no status of this version is refused, not guessed") {
  CHECK_FALSE(parse_status("").has_value());
  CHECK_FALSE(parse_status("[]").has_value());
  CHECK_FALSE(parse_status("{\"schema\": 2}").has_value());
  CHECK_FALSE(parse_status("{\"schema\": 1, \"update\": \"many\"}").has_value());
  CHECK_FALSE(read_status("/nonexistent").has_value());
}

TEST_CASE("a status that cannot be written is reported, not thrown") {
  CHECK_FALSE(write_status("/nonexistent", example()));
}

TEST_CASE("a hostile status.json is no status: links, FIFOs, folders, huge, deep and out of range") {
  namespace fs = std::filesystem;
  const holdfast::test::TempFolder folder;
  const auto file = folder / "status.json";
  const auto is_refused = [&] {
    const bool refused = !read_status(folder.path()).has_value();
    fs::remove_all(file);
    return refused;
  };
  fs::create_symlink("/dev/zero", file);
  CHECK(is_refused());
  REQUIRE(mkfifo(file.c_str(), 0600) == 0);
  CHECK(is_refused());
  fs::create_directory(file);
  CHECK(is_refused());
  std::ofstream(file) << "{\"schema\": 1}";
  fs::resize_file(file, std::uintmax_t{1} << 40);  // sparse: nothing may be allocated for it
  CHECK(is_refused());
  CHECK_FALSE(parse_status("{\"schema\":1,\"x\":" + std::string(100000, '[')).has_value());
  CHECK_FALSE(parse_status("{\"schema\":1,\"update\":1e300}").has_value());
  CHECK_FALSE(parse_status("{\"schema\":1,\"exit_code\":4294967297}").has_value());
  CHECK_FALSE(parse_status("{\"schema\":1,\"pid\":18446744073709551615}").has_value());
  CHECK(parse_status("{\"schema\":1,\"cause\":\"[[[[[[[[[[[\"}").has_value());
}

TEST_CASE("a FIFO under our temporary name stops no status") {
  const holdfast::test::TempFolder folder;
  REQUIRE(mkfifo((folder / ".status.json.new").c_str(), 0600) == 0);
  CHECK(write_status(folder.path(), Status{}));
  CHECK(read_status(folder.path()).has_value());
}

TEST_CASE("without room for a second file the status is written over the old one") {
  const holdfast::test::TempFolder folder;
  Status status;
  status.cause = std::string(300, 'x');
  REQUIRE(write_status(folder.path(), status));
  std::filesystem::create_directories(folder / ".status.json.new/taken");  // no new file can be made
  status.cause = "the disk is full";
  status.state = "failed";
  CHECK(write_status(folder.path(), status));
  CHECK(read_status(folder.path())->cause == "the disk is full");
  status.cause = std::string(600, 'y');
  CHECK(write_status(folder.path(), status));
  CHECK(read_status(folder.path())->cause == status.cause);
}
