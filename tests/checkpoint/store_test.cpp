// The store: content, digest, order, retention, `latest`, what is left over or missing.
#include "checkpoint/store.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "checkpoint/digest.hpp"
#include "checkpoint/sample_state.hpp"
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

namespace {

/// The first opening of a file of this name fails: a bad sector, or a process without descriptors.
class UnreadableFileSystem : public base::FileSystem {
 public:
  UnreadableFileSystem(std::string name, int number) : name_(std::move(name)), number_(number) {}
  int openat(int folder, const char* name, int flags, mode_t mode) override {
    if (name != name_ || std::exchange(failed_, true)) return FileSystem::openat(folder, name, flags, mode);
    errno = number_;
    return -1;
  }

 private:
  std::string name_;
  int number_;
  bool failed_ = false;
};

}  // namespace

TEST_CASE("C44: the checkpoint labelled N holds exactly the state given at N, counters included") {
  StoreFixture f;
  SampleState state(5);
  const Saved saved = Store(f.generation, {}).save(state.view(), request_at(5));
  CHECK(saved.path == f.at("update-000000005"));
  CHECK(saved.notes.empty());
  CHECK(fs::read_symlink(f.at("latest")) == "update-000000005");
  const Loaded loaded = Store::load(saved.path);
  CHECK(test::same_state(loaded.state, state.view()));
  CHECK(loaded.counters.update == 5);
  CHECK(loaded.counters.samples_seen == 320);
  CHECK(loaded.state.progress_json == R"({"epoch":0,"scaler":65536.0,"update":5})");
  CHECK(loaded.state.identity_json == R"({"seed":7})");
  CHECK(loaded.state.extra_json == R"({"threads":2})");
  CHECK(loaded.digest == saved.digest);
  CHECK(saved.bytes > 0);
}

TEST_CASE("C57: weights that are not finite are refused, what was saved stays, and buffers may hold what they like") {
  StoreFixture f;
  f.save(4);
  SampleState state(5);
  std::vector<std::byte> bytes(state.view().model[0].bytes.begin(), state.view().model[0].bytes.end());
  state.view().model[0].bytes = bytes;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + 12, &nan, sizeof nan);
  state.view().weights = 2;
  const std::string told =
      error_text<Error>([&] { Store(f.generation, {1, 0}).save(state.view(), request_at(5, true)); });
  CHECK(told ==
        f.at("update-000000005") +
            ": error[checkpoint.nonfinite]: element 3 of the weight 'fc1.weight' is not a finite number, so this "
            "state is not saved\n  hint: the checkpoints before it stay; lower optimizer.lr or set "
            "train.clip_grad_norm, and see what [hook.divergence_guard] can do");
  CHECK(f.names() == Names{"latest", "update-000000004"});
  CHECK(fs::read_symlink(f.at("latest")) == "update-000000004");
  state.view().weights = 0;
  Store(f.generation, {}).save(state.view(), request_at(5));
  CHECK(fs::read_symlink(f.at("latest")) == "update-000000005");
}

TEST_CASE("the digest covers tensors, counters and progress, and nothing else") {
  SampleState base_state(5), other(5);
  const Counters counters{5, 0, 320};
  const std::string digest = state_digest(base_state.view(), counters);
  CHECK(digest.size() == 32);
  other.view().extra_json = R"({"threads":8})";
  other.view().identity_json = "{}";
  other.view().progress_json = R"({ "scaler": 65536.0, "epoch":0,"update":5 })";
  std::swap(other.view().model[0], other.view().model[3]);
  CHECK(state_digest(other.view(), counters) == digest);
  CHECK(state_digest(base_state.view(), {6, 0, 320}) != digest);
  CHECK(state_digest(base_state.view(), {5, 1, 320}) != digest);
  CHECK(state_digest(base_state.view(), {5, 0, 321}) != digest);
  SampleState changed(5);
  changed.view().progress_json = R"({"scaler":32768.0,"epoch":0,"update":5})";
  CHECK(state_digest(changed.view(), counters) != digest);
  SampleState renamed(5);
  renamed.view().model[0].name = "x";
  CHECK(state_digest(renamed.view(), counters) != digest);
  SampleState reshaped(5);
  reshaped.view().model[0].shape = {4, 16};
  CHECK(state_digest(reshaped.view(), counters) != digest);
  SampleState retyped(5);
  retyped.view().model[0].dtype = "I32";
  CHECK(state_digest(retyped.view(), counters) != digest);
  SampleState moved(5);
  std::swap(moved.view().model[0], moved.view().optimizer[0]);
  CHECK(state_digest(moved.view(), counters) != digest);
  SampleState bits(6);
  bits.view().progress_json = base_state.view().progress_json;
  CHECK(state_digest(bits.view(), counters) != digest);
}

TEST_CASE("the digest is a fixed number: a change of its definition breaks this test") {
  SampleState state(5);
  state.view().progress_json = R"({"epoch":1,"scaler":65536.0,"update":5})";
  CHECK(state_digest(state.view(), {5, 0, 320}) == "084f8c870f92fd0d1253198f9e7eb7ad");
  CHECK(hash_of(std::string_view("")) == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("without a folder or in an empty one there is no checkpoint, and nothing is created") {
  StoreFixture f;
  CHECK(!f.newest());
  CHECK(!fs::exists(f.generation));
  fs::create_directories(f.checkpoints);
  CHECK(!f.newest());
  CHECK(f.told.empty());
}

TEST_CASE("C31: the newest is chosen by the number inside, strangers are told once and never opened") {
  StoreFixture f;
  for (const std::int64_t update : {200, 1000, 9000, 10000}) f.save(update);
  fs::rename(f.at("update-000000200"), f.at("update-200"));
  fs::rename(f.at("update-000009000"), f.at("update-9000"));
  fs::rename(f.at("update-000010000"), f.at("update-10000"));
  fs::create_directory(f.at("handpicked"));
  fs::create_directory(f.at("update-x"));
  test::write_text(f.at("update-000099999"), "a plain file");
  fs::create_directory_symlink("update-200", f.at("update-000088888"));
  fs::remove(f.at("latest"));
  fs::create_symlink("update-10000", f.at("latest"));
  const auto loaded = f.newest();
  REQUIRE(loaded);
  CHECK(loaded->counters.update == 10000);
  CHECK(f.told == Names{f.checkpoints + ": ignored what is no checkpoint: 'handpicked', 'update-000088888', "
                                        "'update-000099999', 'update-x'"});
  CHECK(Store(f.generation, {}).newest_path() == f.at("update-10000"));
}

TEST_CASE("C31: more digits do not make a checkpoint older, nor does a wrong name make it newer") {
  StoreFixture f;
  f.save(100000);
  f.save(900000);
  fs::rename(f.at("update-000900000"), f.at("update-0900000"));
  fs::rename(f.at("update-000100000"), f.at("update-999999999"));
  const auto loaded = f.newest();
  REQUIRE(loaded);
  CHECK(loaded->counters.update == 900000);
}

TEST_CASE("C50: keep 2 with the best at 100 leaves the best and the newest, and `latest` follows") {
  StoreFixture f;
  for (const std::int64_t update : {100, 200, 300, 400, 500}) {
    const Saved saved = f.save(update, {2, 0}, update == 100);
    CHECK(saved.notes.empty());
    const std::string name = fs::path(saved.path).filename();
    CHECK(fs::read_symlink(f.at("latest")) == name);
    CHECK(f.names() == (update == 100 ? Names{"latest", name} : Names{"latest", "update-000000100", name}));
  }
  // A new best moves the protection.
  f.save(600, {2, 0}, true);
  CHECK(f.names() == Names{"latest", "update-000000500", "update-000000600"});
  f.save(700, {2, 0});
  CHECK(f.names() == Names{"latest", "update-000000600", "update-000000700"});
}

TEST_CASE("retention keeps the newest, multiples of keep_every and what belongs to others") {
  StoreFixture f;
  SampleState foreign(1);
  SaveRequest request = request_at(1);
  request.run_id = "20260101T000000Z-aaaa";
  Store(f.generation, {}).save(foreign.view(), request);
  for (const std::int64_t update : {10, 20, 25, 30, 40, 50}) f.save(update, {1, 20});
  CHECK(f.names() == Names{"latest", "update-000000001", "update-000000020", "update-000000040", "update-000000050"});
  f.save(60, {0, 0});  // fewer than one makes no sense: the new one stays
  CHECK(f.names() == Names{"latest", "update-000000001", "update-000000060"});
}

TEST_CASE("a checkpoint that another run wrote is passed over with both names, whatever its checksums say") {
  StoreFixture f;
  f.save(1);
  SampleState foreign(9);
  SaveRequest request = request_at(9);
  request.run_id = "20260101T000000Z-aaaa";
  Store(f.generation, {}).save(foreign.view(), request);
  const auto loaded = f.newest();
  REQUIRE(loaded);
  CHECK(loaded->counters.update == 1);
  CHECK(f.told == Names{f.at("update-000000009/manifest.json") +
                        ": the checkpoint is of the run '20260101T000000Z-aaaa', "
                        "and this is '" +
                        test::kRunId + "'; trying the next older checkpoint"});
  CHECK(Store(f.generation, {}).newest_path() == f.at("update-000000001"));
  CHECK(Store::load(f.at("update-000000009")).counters.update == 9);  // asked for by name it is read all the same
}

TEST_CASE("after a rewind the given-up future is removed, so that it is never taken for the newest") {
  StoreFixture f;
  for (const std::int64_t update : {100, 200, 300}) f.save(update, {3, 0}, update == 300);
  f.save(150, {3, 0});
  CHECK(f.names() == Names{"latest", "update-000000100", "update-000000150"});
  CHECK(f.newest()->counters.update == 150);
}

TEST_CASE("the same update saved twice holds the second state; an emergency copy stands beside") {
  StoreFixture f;
  f.save(7);
  SampleState second(8);
  Store store(f.generation, {});
  store.save(second.count(7).view(), request_at(7));
  CHECK(f.names() == Names{"latest", "update-000000007"});
  CHECK(test::same_state(f.newest()->state, second.view()));
  SampleState third(9);
  SaveRequest oom = request_at(7);
  oom.suffix = "-oom";
  store.save(third.count(7).view(), oom);
  CHECK(f.names() == Names{"latest", "update-000000007", "update-000000007-oom"});
  CHECK(f.newest()->path == f.at("update-000000007-oom"));
}

TEST_CASE("C53: a `latest` that dangles, is missing or is a folder is told and the newest is used") {
  StoreFixture f;
  f.save(1);
  f.save(2);
  fs::remove(f.at("latest"));
  CHECK(f.newest()->counters.update == 2);
  CHECK(f.told == Names{f.at("latest") + ": is not there; the newest checkpoint is found without it"});
  fs::create_symlink("update-000000009", f.at("latest"));
  CHECK(f.newest()->counters.update == 2);
  CHECK(f.told == Names{f.at("latest") + ": points to 'update-000000009', which is no checkpoint here; the newest one "
                                         "is found without it"});
  fs::remove(f.at("latest"));
  fs::create_directory(f.at("latest"));
  CHECK(f.newest()->counters.update == 2);
  CHECK(f.told == Names{f.at("latest") + ": is not a link; the newest checkpoint is found without it"});
  const Saved saved = f.save(3);
  CHECK(saved.notes == Names{f.at("latest") + ": cannot write: Is a directory (EISDIR)"});
  CHECK(f.newest()->counters.update == 3);
}

TEST_CASE("C54: a moved run folder loads and goes on, no absolute path is inside") {
  StoreFixture f;
  f.save(1);
  fs::create_directories(f.temp / "elsewhere");
  const std::string moved = f.temp / "elsewhere/20261130T101500Z-3f2a";
  fs::rename(f.generation, moved);
  Store store(moved, {});
  CHECK(store.newest([](const std::string&) {})->counters.update == 1);
  SampleState state(2);
  store.save(state.view(), request_at(2));
  CHECK(store.newest([](const std::string&) {})->counters.update == 2);
  for (const auto& entry : fs::recursive_directory_iterator(moved))
    if (entry.is_regular_file()) CHECK(test::read_text(entry.path()).find(f.temp.path()) == std::string::npos);
  CHECK(fs::read_symlink(moved + "/checkpoints/latest").is_relative());
}

TEST_CASE("only unreadable checkpoints are 66 with a sentence each, never a fresh start") {
  StoreFixture f;
  f.save(1);
  f.save(2);
  test::write_text(f.at("update-000000001/manifest.json"), "");
  fs::remove(f.at("update-000000002/state.json"));
  const std::string first = f.at("update-000000002/state.json") + ": cannot read: No such file or directory (ENOENT)";
  const std::string second =
      f.at("update-000000001/manifest.json") + ": it does not end with its own hash: cut or changed";
  CHECK(error_text<Error>([&] { (void)f.newest(); }) ==
        f.checkpoints + ": error[checkpoint.none_readable]: none of 2 checkpoints can be read:\n  " + first + "\n  " +
            second + "\n  hint: restore one from a copy, or start from nothing with --new");
  CHECK(f.told == Names{first + "; trying the next older checkpoint", second});
}

TEST_CASE("a bad sector in the newest checkpoint leads to the older one; spent descriptors lead to none") {
  StoreFixture f;
  f.save(1);
  f.save(2);
  Names told;
  const auto note = [&](const std::string& sentence) { told.push_back(sentence); };
  UnreadableFileSystem sector("model.safetensors", EIO);
  CHECK(Store(f.generation, {}, sector).newest(note)->counters.update == 1);
  CHECK(told == Names{f.at("update-000000002/model.safetensors") +
                      ": cannot read: Input/output error (EIO); trying the next older checkpoint"});
  for (const char* name : {"manifest.json", "model.safetensors"}) {
    UnreadableFileSystem spent(name, EMFILE);
    const std::string text = error_text<Error>([&] { (void)Store(f.generation, {}, spent).newest(note); });
    CHECK(text.find("error[io.descriptors]: cannot read: Too many open files (EMFILE)\n  hint: raise the limit of open "
                    "files (`ulimit -n`), then run again") != std::string::npos);
  }
}

TEST_CASE("a requested checkpoint that is absent or a stray folder is 66") {
  StoreFixture f;
  fs::create_directories(f.at("update-1"));
  CHECK(error_text<Error>([&] { (void)Store::load(f.at("update-2")); }) ==
        f.at("update-2") +
            ": error[io.missing]: cannot read: No such file or directory (ENOENT)\n  hint: check the path; "
            "relative paths in a recipe start at its folder");
  CHECK(error_text<Error>([&] { (void)Store::load(f.at("update-1")); }) ==
        f.at("update-1/manifest.json") +
            ": error[io.missing]: cannot read: No such file or directory (ENOENT)\n  hint: "
            "check the path; relative paths in a recipe start at its folder");
}

TEST_CASE("a state that is not well-formed is a bug told before anything is written") {
  StoreFixture f;
  SampleState state(1);
  state.view().progress_json = "{\"a\":1,\"a\":2}";
  CHECK(error_text<Error>([&] { Store(f.generation, {}).save(state.view(), request_at(1)); }) ==
        "error[checkpoint.state_json]: the state's progress: the key \"a\" stands twice in one object");
  state.view().progress_json = "[1]";
  CHECK(error_text<Error>([&] { Store(f.generation, {}).save(state.view(), request_at(1)); }) ==
        "error[checkpoint.state_json]: the state's progress: a JSON object is expected");
  std::string deep;
  for (int i = 0; i < 80; ++i) deep += "{\"a\":";
  state.view().progress_json = deep + "1" + std::string(80, '}');
  CHECK(error_text<Error>([&] { Store(f.generation, {}).save(state.view(), request_at(1)); }) ==
        "error[checkpoint.state_json]: the state's progress: nested deeper than 64 levels");
  CHECK(!fs::exists(f.generation));
}
