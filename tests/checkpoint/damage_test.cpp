// Every file of a checkpoint damaged in every way: always detected, always the older one is used.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "base/folder.hpp"
#include "checkpoint/sample_state.hpp"
#include "checkpoint/store.hpp"
#include "holdfast/error.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;
namespace fs = std::filesystem;

namespace {

const std::vector<std::string> kAllFiles = {"manifest.json", "model.safetensors", "optimizer.safetensors",
                                            "state.json"};

struct Fixture {
  test::TempFolder temp{test::Where::kMemory};
  std::string generation = temp / test::kRunId;
  std::string newer = generation + "/checkpoints/update-000000002";
  std::string older = generation + "/checkpoints/update-000000001";
  int mutations = 0;

  Fixture() {
    for (const std::int64_t update : {1, 2}) {
      test::SampleState state(update, 16);
      Store(generation, {}).save(state.view(), test::request_at(update));
    }
  }
  /// The damage must be found by load, by inspect and by newest, which then gives the older one.
  void must_be_found(const std::string& what) {
    ++mutations;
    INFO(what);
    for (const bool whole : {true, false}) {
      ExitCode code = ExitCode::kOk;
      try {
        if (whole)
          (void)Store::load(newer);
        else
          (void)Store::inspect(newer);
      } catch (const Error& error) {
        code = error.code();
      }
      CHECK(code == ExitCode::kMissingInput);
    }
    std::vector<std::string> told;
    const auto loaded = Store(generation, {}).newest([&](const std::string& text) { told.push_back(text); });
    REQUIRE(loaded);
    CHECK(loaded->counters.update == 1);
    REQUIRE(told.size() == 1);
    CHECK(told[0].starts_with(newer));
    CHECK(told[0].ends_with("; trying the next older checkpoint"));
  }
};

}  // namespace

TEST_CASE("every byte of every file: a flipped bit is found") {
  Fixture f;
  for (const std::string& name : kAllFiles) {
    const std::string path = f.newer + "/" + name, whole = test::read_text(path);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << (i % 8)));
      test::write_text(path, changed);
      f.must_be_found(name + ", bit " + std::to_string(i % 8) + " of byte " + std::to_string(i));
    }
    test::write_text(path, whole);
  }
  CHECK(f.mutations > 1000);
  CHECK(Store::load(f.newer).counters.update == 2);
}

TEST_CASE("cut, grown, zeroed, emptied and deleted files are found") {
  Fixture f;
  for (const std::string& name : kAllFiles) {
    const std::string path = f.newer + "/" + name, whole = test::read_text(path);
    for (std::size_t size = 0; size < whole.size(); size += 5) {
      test::write_text(path, whole.substr(0, size));
      f.must_be_found(name + " cut to " + std::to_string(size));
    }
    for (const std::string& grown : {whole + '\0', whole + "\n", whole + whole}) {
      test::write_text(path, grown);
      f.must_be_found(name + " grown");
    }
    test::write_text(path, std::string(whole.size(), '\0'));
    f.must_be_found(name + " zeroed");
    for (std::size_t at = 0; at + 8 <= whole.size(); at += 64) {
      std::string changed = whole;
      changed.replace(at, 8, "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8");
      test::write_text(path, changed);
      f.must_be_found(name + " overwritten at " + std::to_string(at));
    }
    fs::remove(path);
    f.must_be_found(name + " deleted");
    test::write_text(path, whole);
  }
  CHECK(f.mutations > 300);
}

TEST_CASE("swapped files, files of another checkpoint, links, pipes and folders in their place are found") {
  Fixture f;
  const std::string model = f.newer + "/model.safetensors", optimizer = f.newer + "/optimizer.safetensors";
  const auto swap = [&] {
    fs::rename(model, f.temp / "x");
    fs::rename(optimizer, model);
    fs::rename(f.temp / "x", optimizer);
  };
  swap();
  f.must_be_found("model and optimizer swapped");
  swap();
  for (const std::string& name : kAllFiles) {
    const std::string path = f.newer + "/" + name, aside = f.temp / "aside";
    fs::rename(path, aside);
    if (name != "manifest.json") {  // a whole manifest of update 1 makes it a damaged copy of update 1
      fs::copy_file(f.older + "/" + name, path);
      f.must_be_found(name + " of another checkpoint");
      fs::remove(path);
    }
    fs::create_symlink(aside, path);
    f.must_be_found(name + " as a link");
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    f.must_be_found(name + " as a pipe");
    fs::remove(path);
    fs::create_directory(path);
    f.must_be_found(name + " as a folder");
    fs::remove(path);
    fs::rename(aside, path);
  }
  fs::rename(f.newer, f.temp / "whole");
  fs::create_directory(f.newer);
  f.must_be_found("an empty folder");
}

TEST_CASE("the sentences name the file and both sides") {
  Fixture f;
  const std::string path = f.newer + "/model.safetensors", whole = test::read_text(path);
  const auto told = [&] { return test::error_text<Error>([&] { (void)Store::load(f.newer); }); };
  const std::string hint =
      "\n  hint: the checkpoint is damaged: use another one (--resume CHECKPOINT) or restore it from a copy";
  test::write_text(path, whole + "x");
  CHECK(told() == path + ": error[checkpoint.damaged]: the file has " + std::to_string(whole.size() + 1) +
                      " bytes, but its manifest says " + std::to_string(whole.size()) + hint);
  std::string changed = whole;
  changed.back() = static_cast<char>(changed.back() ^ 1);
  test::write_text(path, changed);
  const std::string text = told();
  CHECK(text.starts_with(path + ": error[checkpoint.damaged]: the file's bytes hash to "));
  CHECK(text.find(", but its manifest says ") != std::string::npos);
  CHECK(text.ends_with(hint));
}
