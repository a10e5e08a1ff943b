// Saving that fails or dies at any call: what was there stays, something loadable is always newest, no leftover stays.
#include <doctest/doctest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

#include "base/folder.hpp"
#include "base/signal.hpp"
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
using test::ChildProcess;
using test::request_at;
using test::SampleState;

namespace {

void save(Store& store, std::int64_t update, std::size_t floats = 64) {
  SampleState state(update, floats);
  (void)store.save(state.view(), request_at(update));
}

/// Newest loads, is at least `at_least`, holds what its number says; after clean() no temporary name stays.
std::int64_t must_be_sound(const std::string& generation, std::int64_t at_least, std::size_t floats = 64) {
  Store store(generation, {});
  store.clean();
  const auto loaded = store.newest([](const std::string&) {});
  REQUIRE(loaded);
  CHECK(loaded->counters.update >= at_least);
  SampleState expected(loaded->counters.update, floats);
  CHECK(test::same_state(loaded->state, expected.view()));
  for (const auto& entry : base::Folder::open(generation + "/checkpoints").entries()) {
    CHECK(!entry.name.starts_with("."));
    CHECK(!entry.name.ends_with("-replaced"));
  }
  return loaded->counters.update;
}

/// The same where sizes differ: the newest loads, and no temporary name stands even before clean().
void must_be_sound_at_all(const std::string& generation) {
  if (!Store(generation, {}).newest([](const std::string&) {})) throw std::runtime_error("no checkpoint is left");
  for (const auto& entry : base::Folder::open(generation + "/checkpoints").entries())
    if (entry.name.starts_with(".")) throw std::runtime_error("left behind: " + entry.name);
}

/// As on file systems that cannot swap two names.
class WithoutExchange : public test::FaultyFileSystem {
 public:
  using FaultyFileSystem::FaultyFileSystem;
  int exchange(int, const char*, const char*) override {
    errno = EINVAL;
    return -1;
  }
};

/// Dies at a given changing call, before it or in the middle of a write.
class DeadlyFileSystem : public base::FileSystem {
 public:
  DeadlyFileSystem(int at, bool can_exchange) : left_(at), can_exchange_(can_exchange) {}
  ssize_t write(int fd, const void* bytes, std::size_t size) override {
    if (left_-- == 0) {
      [[maybe_unused]] const ssize_t half = FileSystem::write(fd, bytes, size / 2);
      die();
    }
    return FileSystem::write(fd, bytes, size);
  }
  int fsync(int fd) override { return step(), FileSystem::fsync(fd); }
  int mkdirat(int folder, const char* name, mode_t mode) override {
    return step(), FileSystem::mkdirat(folder, name, mode);
  }
  int renameat(int from_folder, const char* from, int to_folder, const char* to) override {
    return step(), FileSystem::renameat(from_folder, from, to_folder, to);
  }
  int exchange(int folder, const char* a, const char* b) override {
    if (can_exchange_) return step(), FileSystem::exchange(folder, a, b);
    errno = EINVAL;
    return -1;
  }
  int symlinkat(const char* target, int folder, const char* name) override {
    return step(), FileSystem::symlinkat(target, folder, name);
  }
  int unlinkat(int folder, const char* name, int flags) override {
    return step(), FileSystem::unlinkat(folder, name, flags);
  }

 private:
  void step() {
    if (left_-- == 0) die();
  }
  [[noreturn]] static void die() {
    ::kill(::getpid(), SIGKILL);
    while (true) ::pause();
  }
  int left_;
  bool can_exchange_;
};

/// Walks a fault through every changing call of a second save of `update`, for one kind of file system.
template <class System>
void walk_faults(std::int64_t update, int number, bool all_later) {
  System counting;
  {
    const test::TempFolder temp{test::Where::kMemory};
    Store store(temp / test::kRunId, {1, 0}, counting);
    save(store, 1);
    const int first = counting.calls();
    save(store, update);
    REQUIRE(counting.calls() - first > 12);
  }
  for (int at = 0; at < counting.calls(); ++at) {
    const test::TempFolder temp{test::Where::kMemory};
    const std::string generation = temp / test::kRunId;
    Store good(generation, {1, 0});
    save(good, 1);
    System faulty(at, number, all_later);
    Store store(generation, {1, 0}, faulty);
    INFO("call " << at);
    try {
      save(store, update);
    } catch (const Error& error) {
      const bool cannot_create = error.code() == ExitCode::kCannotCreate && (number == EROFS || number == EXDEV);
      CHECK((error.code() == ExitCode::kIoError || cannot_create));
    }
    must_be_sound(generation, 1);
    save(good, 9);
    CHECK(must_be_sound(generation, 9) == 9);
    CHECK(base::Folder::open(generation + "/checkpoints").entries().size() == 2);
  }
}

}  // namespace

TEST_CASE("a fault at any call of a save, once or from then on, leaves a loadable newest and no leftover") {
  for (const bool all_later : {false, true}) {
    walk_faults<test::FaultyFileSystem>(2, ENOSPC, all_later);
    walk_faults<test::FaultyFileSystem>(1, EIO, all_later);
    walk_faults<WithoutExchange>(1, EIO, all_later);
    for (const int number : {EDQUOT, EFBIG, EROFS, EXDEV}) walk_faults<test::FaultyFileSystem>(2, number, all_later);
  }
}

TEST_CASE(
    "a file-size limit at any point of a save: 74 with the limit's name, the older checkpoint stays, nothing leaks") {
  const test::TempFolder temp{test::Where::kMemory};
  const std::string generation = temp / test::kRunId;
  Store store(generation, {});
  save(store, 1);
  for (const rlim_t limit : {0UL, 100UL, 1000UL, 4096UL}) {
    ChildProcess child([&](int out) {
      base::block_signals();
      const rlimit most{limit, limit};
      ::setrlimit(RLIMIT_FSIZE, &most);
      ChildProcess::report(out, test::error_text<Error>([&] { save(store, 2, 100'000); }));
    });
    const std::string text = child.reported();
    CHECK(WEXITSTATUS(child.wait()) == 0);
    CHECK(text.find(
              "/model.safetensors: error[io.too_big]: cannot write: File too large (EFBIG)\n  hint: the file exceeds "
              "a size limit: raise `ulimit -f` or use a file system without it") != std::string::npos);
    CHECK(base::Folder::open(generation + "/checkpoints").entries().size() == 2);
    CHECK(must_be_sound(generation, 1) == 1);
  }
}

TEST_CASE("a tmpfs that is full after any number of pages: 74, the older checkpoint intact, nothing leaks") {
  const test::TempFolder temp;
  ChildProcess child([&](int out) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", temp.path().c_str(), "tmpfs", 0, "size=128k") != 0)
      return ChildProcess::report(out, "skipped: a private mount is not permitted here");
    const std::string generation = temp / test::kRunId;
    Store store(generation, {2, 0});
    save(store, 1);
    int refused = 0, saved = 0;
    for (int pages = 0; pages < 24; ++pages) {
      const std::string filler = temp / "filler";
      std::error_code failure;
      fs::resize_file(filler, 0, failure);
      std::ofstream(filler) << std::string(static_cast<std::size_t>(pages) * 4096, 'x');
      try {
        save(store, 2 + pages, 1000);
        ++saved;
      } catch (const Error& error) {
        if (error.code() != ExitCode::kIoError) return ChildProcess::report(out, error.what());
        ++refused;
      }
      fs::remove(filler);
      must_be_sound_at_all(generation);
    }
    ChildProcess::report(
        out, std::string(refused > 2 ? "refused" : "never refused") + (saved > 2 ? ", saved" : ", never saved"));
  });
  const std::string text = child.reported();
  CHECK(WEXITSTATUS(child.wait()) == 0);
  if (text.starts_with("skipped"))
    MESSAGE(text);
  else
    CHECK(text == "refused, saved");
}

TEST_CASE("C45: killed at any call of a save, in the middle of a write too, the newest loads and is whole") {
  int deaths = 0;
  for (const bool can_exchange : {true, false}) {
    for (const std::int64_t update : {2, 1}) {
      for (int at = 0;; ++at) {
        const test::TempFolder temp{test::Where::kMemory};
        const std::string generation = temp / test::kRunId;
        Store good(generation, {1, 0});
        save(good, 1);
        ChildProcess child([&](int) {
          DeadlyFileSystem system(at, can_exchange);
          Store store(generation, {1, 0}, system);
          save(store, update);
        });
        const int status = child.wait();
        INFO("update " << update << ", call " << at);
        must_be_sound(generation, 1);
        if (WIFEXITED(status)) {
          CHECK(WEXITSTATUS(status) == 0);
          break;
        }
        ++deaths;
      }
    }
  }
  CHECK(deaths > 60);
}

TEST_CASE("C45: 80 kills at random instants of a saving loop: nothing that was reported saved is ever lost") {
  constexpr std::size_t kFloats = 100'000;
  const test::TempFolder temp{test::Where::kMemory};
  const std::string generation = temp / test::kRunId;
  std::mt19937 random(20261130);
  std::int64_t newest = 0;
  for (int kills = 0; kills < 80; ++kills) {
    std::int64_t last_reported = newest;
    {
      ChildProcess child([&](int out) {
        Store store(generation, {2, 0});
        for (std::int64_t update = newest + 1;; ++update) {
          save(store, update, kFloats);
          ChildProcess::report(out, ".");
        }
      });
      if (newest == 0) {
        child.await_byte();
        ++last_reported;
      }
      ::usleep(static_cast<useconds_t>(random() % 12'000));
      child.kill();
      last_reported += static_cast<std::int64_t>(child.reported().size());
    }
    newest = must_be_sound(generation, last_reported, kFloats);
  }
  CHECK(newest >= 1);
}

TEST_CASE("a full disk: the save is refused with 74, the older checkpoint stays, a home cannot be opened with 73") {
  const test::TempFolder temp;
  ChildProcess child([&](int out) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", temp.path().c_str(), "tmpfs", 0, "size=1m") != 0)
      return ChildProcess::report(out, "skipped: a private mount is not permitted here");
    const std::string generation = temp / test::kRunId;
    Store store(generation, {});
    save(store, 1);
    std::string text = test::error_text<Error>([&] { save(store, 2, 1'000'000); });
    text += "\n" + std::to_string(store.newest([](const std::string&) {})->counters.update);
    text += " " + std::to_string(base::Folder::open(generation + "/checkpoints").entries().size());
    const auto fill = [&] { test::write_text(temp / "filler", std::string(std::size_t{2} << 20, 'x')); };
    text += "\n" + std::string(test::error_text<std::runtime_error>(fill)).substr(0, 12);
    text += "\n" + test::error_text<Error>([&] { RunHome::open(temp / "home"); });
    ChildProcess::report(out, text);
  });
  const std::string text = child.reported();
  CHECK(WEXITSTATUS(child.wait()) == 0);
  if (text.starts_with("skipped")) {
    MESSAGE(text);
    return;
  }
  const std::string model = temp / (std::string(test::kRunId) + "/checkpoints/.tmp-" + test::kRunId + "-2-");
  CHECK(text.starts_with(model));
  CHECK(
      text.find("/model.safetensors: error[io.disk_full]: cannot write: No space left on device (ENOSPC)\n  hint: free "
                "space on its file system, then run again\n1 2\ncannot write\n" +
                temp / "home") != std::string::npos);
  CHECK(text.find("/home/lock: error[io.disk_full]: cannot write: No space left on device (ENOSPC)") !=
        std::string::npos);
}

TEST_CASE("C55: a checkpoints folder that is a mount point of its own, and TMPDIR elsewhere, save all the same") {
  const test::TempFolder temp;
  ChildProcess child([&](int out) {
    const std::string checkpoints = temp / (std::string(test::kRunId) + "/checkpoints");
    fs::create_directories(checkpoints);
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("tmpfs", checkpoints.c_str(), "tmpfs", 0, "size=4m") != 0)
      return ChildProcess::report(out, "skipped: a private mount is not permitted here");
    ::setenv("TMPDIR", "/dev/shm", 1);
    Store store(temp / test::kRunId, {});
    save(store, 3);
    save(store, 3);
    ChildProcess::report(out, std::to_string(store.newest([](const std::string&) {})->counters.update));
  });
  const std::string text = child.reported();
  CHECK(WEXITSTATUS(child.wait()) == 0);
  if (text.starts_with("skipped"))
    MESSAGE(text);
  else
    CHECK(text == "3");
}
