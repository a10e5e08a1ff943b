// Checkpoints whose checksums are right and which are refused all the same, and a folder that is a link.
#include <doctest/doctest.h>

#include "checkpoint/sample_state.hpp"
#include "checkpoint/store.hpp"
#include "checkpoint/store_fixture.hpp"
#include "holdfast/error.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;
namespace fs = std::filesystem;
using test::error_text;
using test::Names;
using test::request_at;
using test::SampleState;
using test::StoreFixture;

TEST_CASE("counters of the manifest that contradict the progress are damage; an older checkpoint is taken") {
  StoreFixture f;
  f.save(1);
  SampleState state(2);
  Store(f.generation, {}).save(state.view(), request_at(3));
  const std::string fault = f.at("update-000000003/state.json") + ": progress.update is 2, but the manifest says 3";
  CHECK(f.newest()->counters.update == 1);
  CHECK(f.told == Names{fault + "; trying the next older checkpoint"});
  CHECK(error_text<Error>([&] { (void)Store::load(f.at("update-000000003")); }) ==
        f.at("update-000000003/state.json") +
            ": error[checkpoint.damaged]: progress.update is 2, but the manifest says 3\n  hint: the checkpoint is "
            "damaged: use another one (--resume CHECKPOINT) or restore it from a copy");
}

TEST_CASE("what the caller refuses as damaged is passed over like damage; any other refusal is passed on") {
  StoreFixture f;
  for (const std::int64_t update : {1, 2, 3}) f.save(update);
  const Store store(f.generation, {});
  Names told;
  const auto note = [&](const std::string& sentence) { told.push_back(sentence); };
  const auto refuse = [&](std::int64_t from, ExitCode code) {
    return [from, code](const Loaded& loaded) {
      if (loaded.counters.update >= from)
        throw Error(code, "x.y", "here", "odd " + std::to_string(loaded.counters.update));
    };
  };
  CHECK(store.newest(note, refuse(2, ExitCode::kMissingInput))->counters.update == 1);
  CHECK(told ==
        Names{"here: odd 3; trying the next older checkpoint", "here: odd 2; trying the next older checkpoint"});
  told.clear();
  CHECK(error_text<Error>([&] { (void)store.newest(note, refuse(1, ExitCode::kMissingInput)); }) ==
        f.checkpoints +
            ": error[checkpoint.none_readable]: none of 3 checkpoints can be read:\n  here: odd 3\n  here: "
            "odd 2\n  here: odd 1\n  hint: restore one from a copy, or start from nothing with --new");
  CHECK(told.back() == "here: odd 1");
  CHECK(error_text<Error>([&] { (void)store.newest(note, refuse(3, ExitCode::kBadRecipe)); }) ==
        "here: error[x.y]: odd 3");
}

TEST_CASE("a link in place of the checkpoints folder is 77, whatever is done with it, and what it leads to stays") {
  StoreFixture f;
  f.save(1);
  const std::string elsewhere = f.temp / "elsewhere";
  fs::rename(f.checkpoints, elsewhere);
  fs::create_symlink(elsewhere, f.checkpoints);
  const std::string refusal = f.checkpoints + ": error[checkpoint.link]: the folder of the checkpoints is a link to '" +
                              elsewhere +
                              "'; what lies there need not be this run's\n  hint: put the folder itself in the place "
                              "of the link";
  CHECK(error_text<Error>([&] { (void)f.newest(); }) == refusal);
  CHECK(error_text<Error>([&] { (void)Store(f.generation, {}).newest_path(); }) == refusal);
  CHECK(error_text<Error>([&] { Store(f.generation, {}).clean(); }) == refusal);
  CHECK(error_text<Error>([&] { f.save(2); }) == refusal);
  CHECK(fs::exists(elsewhere + "/update-000000001/manifest.json"));
  CHECK(!fs::exists(elsewhere + "/update-000000002"));
}
