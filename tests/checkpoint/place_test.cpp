// Run homes on file systems that cannot do everything, and disks that do not keep what they are given.
#include "checkpoint/place.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>

#include "checkpoint/home.hpp"
#include "checkpoint/sample_state.hpp"
#include "checkpoint/store.hpp"
#include "child_process.hpp"
#include "faulty_file_system.hpp"
#include "holdfast/error.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;
namespace fs = std::filesystem;

namespace {

/// An object store mounted as a folder: no links, no renaming of folders.
class ObjectStore : public base::FileSystem {
 public:
  explicit ObjectStore(bool links = false, bool renames = false) : links_(links), renames_(renames) {}
  int symlinkat(const char* target, int folder, const char* name) override {
    if (links_) return FileSystem::symlinkat(target, folder, name);
    errno = EPERM;
    return -1;
  }
  int renameat(int from_folder, const char* from, int to_folder, const char* to) override {
    struct stat info {};
    if (renames_ || ::fstatat(from_folder, from, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode))
      return FileSystem::renameat(from_folder, from, to_folder, to);
    errno = EXDEV;
    return -1;
  }
  int exchange(int, const char*, const char*) override {
    errno = EINVAL;
    return -1;
  }
  int unlinkat(int folder, const char* name, int flags) override {
    if (dies_at_ >= 0 && dies_at_-- == 0) ::raise(SIGKILL);
    return FileSystem::unlinkat(folder, name, flags);
  }
  ssize_t write(int fd, const void* bytes, std::size_t size) override {
    if (dies_at_ >= 0 && dies_at_-- == 0) ::raise(SIGKILL);
    return FileSystem::write(fd, bytes, size);
  }
  int dies_at_ = -1;

 private:
  bool links_, renames_;
};

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : base::Folder::open(path).entries()) names.push_back(entry.name);
  return names;
}

void save(Store& store, std::int64_t update) {
  test::SampleState state(update);
  const Saved saved = store.save(state.view(), test::request_at(update));
  CHECK(saved.notes.empty());
}

}  // namespace

TEST_CASE("what a file system cannot do is found out in the real folder, said, and nothing is left there") {
  const test::TempFolder temp{test::Where::kMemory};
  const auto tried = [&](base::FileSystem& system) { return try_out(base::Folder::open(temp.path(), system)); };
  CHECK(shortcomings(tried(base::FileSystem::real())).empty());
  ObjectStore neither, no_links(false, true), no_renames(true, false);
  CHECK(
      shortcomings(tried(neither)) ==
      std::vector<std::string>{
          "the file system of the run home has no links: `current` and `latest` are files that hold a name",
          "the file system of the run home cannot rename folders: a checkpoint is made under its final name and counts "
          "once its manifest.json is there"});
  CHECK((!tried(no_links).links && tried(no_links).folder_renames));
  CHECK((tried(no_renames).links && !tried(no_renames).folder_renames));
  CHECK(fs::is_empty(temp.path()));
  test::FaultyFileSystem full(0, ENOSPC, true);
  CHECK_THROWS_AS(tried(full), Error);
  CHECK(fs::is_empty(temp.path()));
}

TEST_CASE("without links and renames of folders checkpoints are saved, replaced, kept by rule and found again") {
  const test::TempFolder temp{test::Where::kMemory};
  const std::string generation = temp / test::kRunId, checkpoints = generation + "/checkpoints";
  ObjectStore system;
  Store store(generation, {2, 0}, system);
  store.obey({false, false});
  for (const std::int64_t update : {1, 2, 3}) save(store, update);
  CHECK(names_in(checkpoints) == std::vector<std::string>{"latest", "update-000000002", "update-000000003"});
  CHECK(test::read_text(checkpoints + "/latest") == "update-000000003\n");
  save(store, 3);
  CHECK(names_in(checkpoints) == std::vector<std::string>{"latest", "update-000000002", "update-000000003-again"});
  save(store, 3);
  std::vector<std::string> told;
  const auto loaded = store.newest([&](const std::string& text) { told.push_back(text); });
  REQUIRE(loaded);
  CHECK(loaded->path == checkpoints + "/update-000000003");
  CHECK(told.empty());
}

TEST_CASE("C45: killed at any call of such a save, the newest whole one loads and the next start tidies up") {
  int deaths = 0;
  for (const std::int64_t update : {2, 1})
    for (int at = 0;; ++at) {
      const test::TempFolder temp{test::Where::kMemory};
      const std::string generation = temp / test::kRunId;
      ObjectStore system;
      Store good(generation, {1, 0}, system);
      good.obey({false, false});
      save(good, 1);
      test::ChildProcess child([&](int) {
        ObjectStore deadly;
        deadly.dies_at_ = at;
        Store store(generation, {1, 0}, deadly);
        store.obey({false, false});
        save(store, update);
      });
      const int status = child.wait();
      INFO("update " << update << ", call " << at);
      const auto loaded = good.newest([](const std::string&) {});
      REQUIRE(loaded);
      CHECK(test::same_state(loaded->state, test::SampleState(loaded->counters.update).view()));
      good.clean();
      for (const auto& name : names_in(generation + "/checkpoints"))
        CHECK((name == "latest" || fs::exists(generation + "/checkpoints/" + name + "/manifest.json")));
      save(good, 9);
      CHECK(good.newest([](const std::string&) {})->counters.update == 9);
      if (WIFEXITED(status)) break;
      ++deaths;
    }
  CHECK(deaths > 10);
}

TEST_CASE("a home without links and renames is begun, found, and continued by the next process") {
  const test::TempFolder temp{test::Where::kMemory};
  ObjectStore system;
  std::string first;
  {
    RunHome home = RunHome::open(temp / "home", system);
    CHECK(!home.abilities().links);
    first = home.begin_generation([](const std::string& folder, const std::string&) {
                  test::write_text(folder + "/recipe.toml", "x");
                })
                .name;
    CHECK(test::read_text(temp / "home/current") == first + "\n");
  }
  RunHome again = RunHome::open(temp / "home", system);
  CHECK(again.current().name == first);
  CHECK(RunHome::look(temp / "home").name == first);
  CHECK(test::read_text(temp / ("home/" + first + "/recipe.toml")) == "x");
  CHECK(names_in(temp / "home") == std::vector<std::string>{first, "current", "lock"});
}

TEST_CASE("a disk that gives back other bytes than it was given: 74, and nothing that was there is lost") {
  /// Loses one bit of every write of more than a page's worth of bytes from `bad` on.
  struct Lossy : base::FileSystem {
    ssize_t read(int fd, void* bytes, std::size_t size) override {
      const ssize_t got = FileSystem::read(fd, bytes, size);
      if (bad && got > 0) static_cast<char*>(bytes)[got / 2] ^= 4;
      return got;
    }
    bool bad = false;
  } system;
  const test::TempFolder temp{test::Where::kMemory};
  const std::string generation = temp / test::kRunId;
  Store store(generation, {1, 0}, system);
  save(store, 1);
  system.bad = true;
  test::SampleState state(2);
  std::string text = test::error_text<Error>([&] { (void)store.save(state.view(), test::request_at(2)); });
  CHECK(text.find("/model.safetensors: error[checkpoint.read_back]: the file does not read back as it was written: its "
                  "bytes hash to ") != std::string::npos);
  CHECK(text.ends_with(
      "\n  hint: the disk or network file system loses bytes: see the kernel log, or use --output DIR on "
      "another one"));
  system.bad = false;
  CHECK(names_in(generation + "/checkpoints") == std::vector<std::string>{"latest", "update-000000001"});
  CHECK(store.newest([](const std::string&) {})->counters.update == 1);
}
