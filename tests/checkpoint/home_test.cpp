// The run home: lock, generations, `current`, owners, pruning.
#include "checkpoint/home.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/folder.hpp"
#include "checkpoint/generation.hpp"
#include "checkpoint/sample_state.hpp"
#include "checkpoint/store.hpp"
#include "child_process.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;
namespace fs = std::filesystem;
using test::ChildProcess;
using test::error_text;

namespace {

void set_status(const Generation& generation, const std::string& text) {
  test::write_text(generation.path + "/status.json", text);
}

}  // namespace

TEST_CASE("a fresh home is made with its parents; generations follow each other and `current` leads to the newest") {
  const test::TempFolder temp;
  const std::string path = temp / "runs/mnist";
  CHECK(RunHome::look(path).state == GenerationState::kAbsent);
  CHECK(!fs::exists(temp / "runs"));
  RunHome home = RunHome::open(path);
  CHECK(home.path() == path);
  CHECK(home.current().state == GenerationState::kAbsent);
  const Generation first = home.begin_generation();
  CHECK(is_generation_name(first.name));
  CHECK(first.path == path + "/" + first.name);
  CHECK(first.state == GenerationState::kUnfinished);
  CHECK(first.attempts == 0);
  CHECK(fs::read_symlink(path + "/current") == first.name);
  set_status(first, R"({"state":"finished","attempt":3})");
  CHECK(home.current().state == GenerationState::kFinished);
  CHECK(home.current().attempts == 3);
  const Generation second = home.begin_generation();
  CHECK(second.name > first.name);
  CHECK(home.current().name == second.name);
  CHECK(home.current().state == GenerationState::kUnfinished);
}

TEST_CASE("generations begun in the same second differ and keep their order") {
  const base::WallTime now{};
  const std::string first = next_generation_name(now, {});
  const std::string second = next_generation_name(now, {first});
  const std::string third = next_generation_name(now, {first, second});
  CHECK(first.starts_with("19700101T000000Z-"));
  CHECK(second.starts_with("19700101T000001Z-"));
  CHECK(third.starts_with("19700101T000002Z-"));
  CHECK(!is_generation_name("20261130T101500Z-3F2A"));
  CHECK(!is_generation_name("20261130T101500Z-3f2"));
  CHECK(!is_generation_name("20261130X101500Z-3f2a"));
}

TEST_CASE("a home, its link, a generation and a checkpoint all lead to home and generation") {
  const test::TempFolder temp;
  const std::string path = temp / "home";
  const Generation generation = RunHome::open(path).begin_generation();
  test::SampleState state(1);
  auto request = test::request_at(1);
  request.run_id = generation.name;
  const Saved saved = Store(generation.path, {}).save(state.view(), request);
  for (const std::string& place :
       {path, path + "/current", generation.path, saved.path, generation.path + "/checkpoints/latest"}) {
    INFO(place);
    CHECK(RunHome::home_of(place) == path);
    CHECK(RunHome::look(place).path == generation.path);
  }
  CHECK(error_text<Error>([&] { RunHome::home_of(temp.path()); }) ==
        temp.path() +
            ": error[home.none]: this is no run home, generation or checkpoint: it has neither a 'current' link nor a "
            "generation\n  hint: name the folder that `holdfast run` wrote (run.output of the recipe)");
  CHECK(error_text<Error>([&] { RunHome::home_of(temp / "no"); }) ==
        temp / "no" +
            ": error[io.missing]: cannot read: No such file or directory (ENOENT)\n  hint: check the path; "
            "relative paths in a recipe start at its folder");
}

TEST_CASE("a second process is told the pid of the first, and a stale lock file never blocks") {
  const test::TempFolder temp;
  const std::string path = temp / "home";
  {
    const RunHome held = RunHome::open(path);
    ChildProcess child([&](int out) { ChildProcess::report(out, error_text<Error>([&] { RunHome::open(path); })); });
    CHECK(child.reported() ==
          path + ": error[home.locked]: process " + std::to_string(::getpid()) +
              " works in this run home\n  hint: wait for it, stop it, or use --on-locked wait or skip");
    try {
      RunHome::open(path);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kStoppedAfterSave);
    }
  }
  {
    ChildProcess killed([&](int out) {
      const RunHome home = RunHome::open(path);
      ChildProcess::report(out, "x");
      while (true) ::pause();
    });
    killed.await_byte();
    CHECK_THROWS_AS(RunHome::open(path), Error);
    killed.kill();
  }
  CHECK(RunHome::open(path).path() == path);
}

TEST_CASE("the lock does not pass to programs that the process starts") {
  const test::TempFolder temp;
  RunHome home = RunHome::open(temp / "home");
  const std::string out = temp / "fds";
  REQUIRE(std::system(("ls -l /proc/self/fd > '" + out + "'").c_str()) == 0);
  CHECK(test::read_text(out).find(temp / "home") == std::string::npos);
}

TEST_CASE("a foreign, a world-writable and an unwritable home are 77, a file in the way is 73") {
  const test::TempFolder temp;
  const std::string path = temp / "home";
  fs::create_directory(path);
  fs::permissions(path, fs::perms::all);
  CHECK(
      error_text<Error>([&] { RunHome::open(path); }) ==
      path +
          ": error[home.world_writable]: every user of this machine may write into the run home\n  hint: chmod o-w '" +
          path + "', then run again");
  fs::permissions(path, fs::perms::owner_all);
  test::write_text(temp / "file", "");
  CHECK(error_text<Error>([&] { RunHome::open(temp / "file/home"); }) ==
        temp / "file/home" +
            ": error[io.not_a_folder]: cannot create: Not a directory (ENOTDIR)\n  hint: a part of the path is a file: "
            "remove it or use --output DIR");
  fs::create_symlink("nowhere", path + "/lock");
  CHECK(error_text<Error>([&] { RunHome::open(path); }) ==
        path +
            "/lock: error[io.link]: cannot create: Too many levels of symbolic links (ELOOP)\n  hint: a link stands "
            "where a file or folder is expected: remove it");
  fs::remove(path + "/lock");
  if (::geteuid() != 0) {
    MESSAGE("skipped: changing owners needs root");
    return;
  }
  REQUIRE(::chown(path.c_str(), 65534, 65534) == 0);
  CHECK(error_text<Error>([&] { RunHome::open(path); }) ==
        path +
            ": error[home.foreign]: the run home belongs to user 65534, this process runs as user 0\n  hint: run as "
            "its owner, change its owner, or use --output DIR");
  fs::permissions(temp.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  ChildProcess child([&](int out) {
    if (::setuid(65534) != 0) return;
    ChildProcess::report(out, error_text<Error>([&] { RunHome::open(temp / "other"); }));
  });
  CHECK(child.reported() == temp / "other" +
                                ": error[io.permission]: cannot create: Permission denied (EACCES)\n  hint: give this "
                                "user permission to write there, or use --output DIR");
}

TEST_CASE("a broken `current` and a damaged status never lose a generation") {
  const test::TempFolder temp;
  const std::string path = temp / "home";
  RunHome home = RunHome::open(path);
  const Generation first = home.begin_generation();
  set_status(first, R"({"state":"finished"})");
  fs::remove(path + "/current");
  CHECK(home.current().name == first.name);
  for (const char* target : {"nowhere", "../x", "/etc"}) {
    fs::create_symlink(target, path + "/current");
    CHECK(home.current().name == first.name);
    fs::remove(path + "/current");
  }
  for (const char* status : {"", "{", "[]", R"({"state":1,"attempt":"x"})", R"({"state":"running","attempt":-4})",
                             R"({"state":"finished","state":"running"})"}) {
    set_status(first, status);
    CHECK(home.current().state == GenerationState::kUnfinished);
    CHECK(home.current().attempts == 0);
  }
}

TEST_CASE("a generation that was left empty by a killed predecessor is removed by the next") {
  const test::TempFolder temp;
  RunHome home = RunHome::open(temp / "home");
  const Generation first = home.begin_generation();
  set_status(first, R"({"state":"finished"})");
  fs::create_directory(temp / "home/20990101T000000Z-0000");
  const Generation second = home.begin_generation();
  CHECK(!fs::exists(temp / "home/20990101T000000Z-0000"));
  CHECK(fs::exists(first.path));
  CHECK(home.current().name == second.name);
}

TEST_CASE("C54: a moved home is continued where it lies now") {
  const test::TempFolder temp;
  const Generation before = RunHome::open(temp / "a/home").begin_generation();
  fs::rename(temp / "a", temp / "b");
  RunHome home = RunHome::open(temp / "b/home");
  CHECK(home.current().name == before.name);
  CHECK(home.current().path == temp / "b/home/" + before.name);
}

TEST_CASE("pruning removes old finished generations only") {
  const test::TempFolder temp;
  RunHome home = RunHome::open(temp / "home");
  std::vector<Generation> all;
  for (int i = 0; i < 5; ++i) {
    all.push_back(home.begin_generation());
    set_status(all.back(), i == 1 ? R"({"state":"stopped"})" : R"({"state":"finished"})");
  }
  fs::create_directory(temp / "home/.removed-20000101T000000Z-0000");
  home.prune(2);
  CHECK(!fs::exists(all[0].path));
  CHECK(fs::exists(all[1].path));  // unfinished
  CHECK(!fs::exists(all[2].path));
  CHECK(fs::exists(all[3].path));
  CHECK(fs::exists(all[4].path));
  CHECK(!fs::exists(temp / "home/.removed-20000101T000000Z-0000"));
  home.prune(0);
  CHECK(fs::exists(all[4].path));  // the current one
  CHECK(!fs::exists(all[3].path));
}

TEST_CASE("a generation, its checkpoints or one of them that others own or may write into are 77") {
  const test::TempFolder temp;
  const std::string path = temp / "home";
  const Generation generation = RunHome::open(path).begin_generation();
  test::SampleState state(1);
  auto request = test::request_at(1);
  request.run_id = generation.name;
  const std::string checkpoint = Store(generation.path, {}).save(state.view(), request).path;
  const std::string checkpoints = generation.path + "/checkpoints";
  const std::pair<std::string, std::string> places[] = {
      {generation.path, "generation"}, {checkpoints, "folder of checkpoints"}, {checkpoint, "checkpoint"}};
  for (const auto& [place, what] : places) {
    fs::permissions(place, fs::perms::others_write, fs::perm_options::add);
    CHECK(error_text<Error>([&] { RunHome::open(path); }) ==
          place + ": error[home.world_writable]: every user of this machine may write into the " + what +
              "\n  hint: chmod o-w '" + place + "', then run again");
    fs::permissions(place, fs::perms::others_write, fs::perm_options::remove);
    if (::geteuid() != 0) continue;
    REQUIRE(::chown(place.c_str(), 65534, 65534) == 0);
    CHECK(error_text<Error>([&] { RunHome::open(path); }) ==
          place + ": error[home.foreign]: the " + what +
              " belongs to user 65534, this process runs as user 0\n  hint: run as its owner, change its owner, or use "
              "--output DIR");
    REQUIRE(::chown(place.c_str(), 0, 0) == 0);
  }
  CHECK(RunHome::open(path).current().name == generation.name);
  fs::rename(checkpoints, temp / "aside");
  fs::create_symlink("/etc", checkpoints);
  CHECK(error_text<Error>([&] { RunHome::open(path); }) ==
        checkpoints +
            ": error[checkpoint.link]: the folder of the checkpoints is a link to '/etc'; what lies there need not be "
            "this run's\n  hint: put the folder itself in the place of the link");
}

TEST_CASE("a `current` that leads out of the home is never followed from the home, and open() puts it right") {
  const test::TempFolder temp;
  const std::string path = temp / "home";
  const Generation own = RunHome::open(path).begin_generation();
  const Generation other = RunHome::open(temp / "other").begin_generation();
  set_status(own, R"({"state":"running"})");
  for (const std::string& target :
       {other.path, "../other/" + other.name, std::string("lock"), own.path, "./" + own.name, std::string("current")}) {
    fs::remove(path + "/current");
    fs::create_symlink(target, path + "/current");
    CHECK(RunHome::look(path).path == own.path);
    CHECK(RunHome::open(path).current().path == own.path);
    CHECK(fs::read_symlink(path + "/current") == own.name);
  }
  CHECK(fs::read_symlink(temp / "other/current") == other.name);
}
