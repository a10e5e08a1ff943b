// What a killed process left in a generation: what clean() removes, finishes and leaves.
#include <doctest/doctest.h>

#include <cerrno>

#include "checkpoint/sample_state.hpp"
#include "checkpoint/store.hpp"
#include "checkpoint/store_fixture.hpp"
#include "holdfast/error.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;
namespace fs = std::filesystem;
using test::Names;
using test::request_at;
using test::SampleState;
using test::StoreFixture;

TEST_CASE("leftovers of killed saves are removed, those of other runs and strangers stay") {
  StoreFixture f;
  f.save(1);
  fs::create_directories(f.at(std::string(".tmp-") + test::kRunId + "-2-123/deep"));
  fs::create_directories(f.at(".tmp-20260101T000000Z-aaaa-2-123"));
  fs::create_symlink("update-000000001", f.at(".latest.tmp-1-aa"));
  fs::create_directory(f.at("handpicked"));
  fs::rename(f.at("update-000000001"), f.at("update-000000001-replaced"));
  CHECK(f.newest()->counters.update == 1);
  Store(f.generation, {}).clean();
  CHECK(f.names() == Names{".tmp-20260101T000000Z-aaaa-2-123", "handpicked", "latest", "update-000000001"});
}

TEST_CASE("after a kill between rename and retention, clean finishes retention below the checkpoint that goes on") {
  StoreFixture f;
  for (const std::int64_t update : {10, 20, 30, 40, 50}) f.save(update, {100, 0}, update == 20);
  SampleState foreign(5);
  SaveRequest request = request_at(5);
  request.run_id = "20260101T000000Z-aaaa";
  Store(f.generation, {}).save(foreign.view(), request);
  CHECK(Store(f.generation, {2, 0}).clean("update-000000040").empty());
  // The best one stays, 50 is of a future that was given up or is damaged, the foreign one is not ours.
  const Names kept = {"latest", "update-000000005", "update-000000020", "update-000000040", "update-000000050"};
  CHECK(f.names() == kept);
  CHECK(Store(f.generation, {1, 0}).clean("update-000000077").empty());
  CHECK(Store(f.generation, {1, 0}).clean().empty());
  CHECK(f.names() == kept);
  CHECK(Store(f.generation, {2, 20}).clean("update-000000050").empty());
  CHECK(f.names() == kept);
}

TEST_CASE("clean tells what retention cannot remove and goes on; temporary files of the generation go") {
  StoreFixture f;
  for (const std::int64_t update : {1, 2, 3}) f.save(update);
  test::write_text(f.generation + "/.status.json.tmp-1-ab", "");
  test::write_text(f.generation + "/.best.safetensors.new", "");
  test::write_text(f.generation + "/.hidden", "");
  class Stuck : public base::FileSystem {
   public:
    int renameat(int from_folder, const char* from, int to_folder, const char* to) override {
      if (std::string(from) != "update-000000001") return FileSystem::renameat(from_folder, from, to_folder, to);
      errno = EIO;
      return -1;
    }
  } stuck;
  const auto notes = Store(f.generation, {1, 0}, stuck).clean("update-000000003");
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].ends_with("update-000000001: cannot write: Input/output error (EIO)"));
  CHECK(f.names() == Names{"latest", "update-000000001", "update-000000003"});
  CHECK(!fs::exists(f.generation + "/.status.json.tmp-1-ab"));
  CHECK(!fs::exists(f.generation + "/.best.safetensors.new"));
  CHECK(fs::exists(f.generation + "/.hidden"));
}
