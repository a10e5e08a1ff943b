// The store: content, digest, order, retention, `latest`, format gate.
#include "checkpoint/store.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <utility>

#include "base/folder.hpp"
#include "checkpoint/digest.hpp"
#include "checkpoint/sample_state.hpp"
#include "holdfast/error.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;
namespace fs = std::filesystem;
using test::error_text;
using test::request_at;
using test::SampleState;

namespace {

struct Fixture {
  test::TempFolder temp{test::Where::kMemory};
  std::string generation = temp / test::kRunId;
  std::string checkpoints = generation + "/checkpoints";
  std::vector<std::string> told;

  Saved save(std::int64_t update, Retention retention = {100, 0}, bool best = false) {
    SampleState state(update);
    return Store(generation, retention).save(state.view(), request_at(update, best));
  }
  std::optional<Loaded> newest() {
    told.clear();
    return Store(generation, {}).newest([&](const std::string& sentence) { told.push_back(sentence); });
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : base::Folder::open(checkpoints).entries()) found.push_back(entry.name);
    return found;
  }
  [[nodiscard]] std::string at(const std::string& name) const { return checkpoints + "/" + name; }
};

using Names = std::vector<std::string>;

/// Changes the manifest's text and closes it with a fitting hash again.
void edit_manifest(const std::string& path, const std::string& from, const std::string& to) {
  std::string text = test::read_text(path);
  const std::size_t trailer = text.find("  \"manifest_xxh3_128\"");
  text.resize(trailer);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  test::write_text(path, text + "  \"manifest_xxh3_128\": \"" + hash_of(text) + "\"\n}\n");
}

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

constexpr const char* kDamageHint =
    "\n  hint: the checkpoint is damaged: use another one (--resume CHECKPOINT) or restore it from a copy";

}  // namespace

TEST_CASE("C44: the checkpoint labelled N holds exactly the state given at N, counters included") {
  Fixture f;
  SampleState state(5);
  const Saved saved = Store(f.generation, {}).save(state.view(), request_at(5));
  CHECK(saved.path == f.at("update-000000005"));
  CHECK(saved.notes.empty());
  CHECK(fs::read_symlink(f.at("latest")) == "update-000000005");
  const Loaded loaded = Store::load(saved.path);
  CHECK(test::same_state(loaded.state, state.view()));
  CHECK(loaded.counters.update == 5);
  CHECK(loaded.counters.samples_seen == 320);
  CHECK(loaded.state.progress_json == R"({"epoch":1,"scaler":65536.0,"update":5})");
  CHECK(loaded.state.identity_json == R"({"seed":7})");
  CHECK(loaded.state.extra_json == R"({"threads":2})");
  CHECK(loaded.digest == saved.digest);
  CHECK(saved.bytes > 0);
}

TEST_CASE("the digest covers tensors, counters and progress, and nothing else") {
  SampleState base_state(5), other(5);
  const Counters counters{5, 0, 320};
  const std::string digest = state_digest(base_state.view(), counters);
  CHECK(digest.size() == 32);
  other.view().extra_json = R"({"threads":8})";
  other.view().identity_json = "{}";
  other.view().progress_json = R"({ "scaler": 65536.0, "epoch":1,"update":5 })";
  std::swap(other.view().model[0], other.view().model[3]);
  CHECK(state_digest(other.view(), counters) == digest);
  CHECK(state_digest(base_state.view(), {6, 0, 320}) != digest);
  CHECK(state_digest(base_state.view(), {5, 1, 320}) != digest);
  CHECK(state_digest(base_state.view(), {5, 0, 321}) != digest);
  SampleState changed(5);
  changed.view().progress_json = R"({"scaler":32768.0,"epoch":1,"update":5})";
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
  CHECK(state_digest(state.view(), {5, 0, 320}) == "084f8c870f92fd0d1253198f9e7eb7ad");
  CHECK(hash_of(std::string_view("")) == "99aa06d3014798d86001c324468d497f");
}

TEST_CASE("without a folder or in an empty one there is no checkpoint, and nothing is created") {
  Fixture f;
  CHECK(!f.newest());
  CHECK(!fs::exists(f.generation));
  fs::create_directories(f.checkpoints);
  CHECK(!f.newest());
  CHECK(f.told.empty());
}

TEST_CASE("C31: the newest is chosen by the number inside, strangers are told once and never opened") {
  Fixture f;
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
  Fixture f;
  f.save(100000);
  f.save(900000);
  fs::rename(f.at("update-000900000"), f.at("update-0900000"));
  fs::rename(f.at("update-000100000"), f.at("update-999999999"));
  const auto loaded = f.newest();
  REQUIRE(loaded);
  CHECK(loaded->counters.update == 900000);
}

TEST_CASE("C50: keep 2 with the best at 100 leaves the best and the newest, and `latest` follows") {
  Fixture f;
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
  Fixture f;
  SampleState foreign(1);
  SaveRequest request = request_at(1);
  request.run_id = "20260101T000000Z-aaaa";
  Store(f.generation, {}).save(foreign.view(), request);
  for (const std::int64_t update : {10, 20, 25, 30, 40, 50}) f.save(update, {1, 20});
  CHECK(f.names() == Names{"latest", "update-000000001", "update-000000020", "update-000000040", "update-000000050"});
  f.save(60, {0, 0});  // fewer than one makes no sense: the new one stays
  CHECK(f.names() == Names{"latest", "update-000000001", "update-000000060"});
}

TEST_CASE("after a rewind the given-up future is removed, so that it is never taken for the newest") {
  Fixture f;
  for (const std::int64_t update : {100, 200, 300}) f.save(update, {3, 0}, update == 300);
  f.save(150, {3, 0});
  CHECK(f.names() == Names{"latest", "update-000000100", "update-000000150"});
  CHECK(f.newest()->counters.update == 150);
}

TEST_CASE("the same update saved twice holds the second state; an emergency copy stands beside") {
  Fixture f;
  f.save(7);
  SampleState second(8);
  Store store(f.generation, {});
  store.save(second.view(), request_at(7));
  CHECK(f.names() == Names{"latest", "update-000000007"});
  CHECK(test::same_state(f.newest()->state, second.view()));
  SampleState third(9);
  SaveRequest oom = request_at(7);
  oom.suffix = "-oom";
  store.save(third.view(), oom);
  CHECK(f.names() == Names{"latest", "update-000000007", "update-000000007-oom"});
  CHECK(f.newest()->path == f.at("update-000000007-oom"));
}

TEST_CASE("C53: a `latest` that dangles, is missing or is a folder is told and the newest is used") {
  Fixture f;
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
  Fixture f;
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

TEST_CASE("C43: a newer format is refused with both numbers, and no older checkpoint is taken in its place silently") {
  Fixture f;
  f.save(1);
  f.save(2);
  const std::string manifest = f.at("update-000000002/manifest.json");
  edit_manifest(manifest, "\"format_version\": 1", "\"format_version\": 2");
  CHECK(error_text<Error>([&] { (void)Store::load(f.at("update-000000002")); }) ==
        manifest +
            ": error[checkpoint.version]: the checkpoint has format version 2, this holdfast reads up to version "
            "1\n  hint: use the holdfast that wrote it, or a newer one");
  CHECK(error_text<Error>([&] { (void)f.newest(); }) ==
        manifest +
            ": error[checkpoint.version]: the checkpoint has format version 2, this holdfast reads up to version "
            "1\n  hint: use the holdfast that wrote it, or a newer one");
}

TEST_CASE("C43: an unknown field is ignored with a note, a missing or mistyped one is named") {
  Fixture f;
  f.save(2);
  const std::string manifest = f.at("update-000000002/manifest.json");
  edit_manifest(manifest, "\"attempt\": 1", "\"attempt\": 1,\n  \"shiny\": true");
  CHECK(f.newest()->counters.update == 2);
  CHECK(f.told == Names{manifest + ": unknown field \"shiny\" ignored"});
  const auto told = [&](const std::string& from, const std::string& to) {
    f.save(2);
    edit_manifest(manifest, from, to);
    return error_text<Error>([&] { (void)Store::load(f.at("update-000000002")); });
  };
  const auto refusal = [&](const std::string& what) {
    return manifest + ": error[checkpoint.manifest]: " + what + kDamageHint;
  };
  CHECK(told("  \"epoch\": 0,\n", "") == refusal("no field 'epoch'"));
  CHECK(told("\"update\": 2", "\"update\": \"2\"") == refusal("field 'update' is not a count"));
  CHECK(told("\"update\": 2", "\"update\": -2") == refusal("field 'update' is not a count"));
  CHECK(told("\"update\": 2", "\"update\": 18446744073709551615") == refusal("field 'update' is not a count"));
  CHECK(told("\"best\": false", "\"best\": 0") == refusal("field 'best' is not true or false"));
  CHECK(told("\"reason\": \"periodic\"", "\"reason\": []") == refusal("field 'reason' is not a string"));
  CHECK(told("\"world_size\": 1", "\"world_size\": 4") ==
        refusal("it is a part of a checkpoint of 4 ranks; this holdfast reads single ones"));
  CHECK(told("\"digest\": \"", "\"digest\": \"zz") == refusal("field 'digest' is not 32 hexadecimal digits"));
  CHECK(told("holdfast-checkpoint", "other") == refusal("field 'format' is not \"holdfast-checkpoint\""));
  CHECK(told("\"state.json\"", "\"../../etc/passwd\"") == refusal("no field 'files.state.json'"));
}

TEST_CASE("only unreadable checkpoints are 66 with a sentence each, never a fresh start") {
  Fixture f;
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
  CHECK(f.told == Names{first + "; trying the next older checkpoint", second + "; trying the next older checkpoint"});
}

TEST_CASE("a bad sector in the newest checkpoint leads to the older one; spent descriptors lead to none") {
  Fixture f;
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

TEST_CASE("leftovers of killed saves are removed, those of other runs and strangers stay") {
  Fixture f;
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

TEST_CASE("a requested checkpoint that is absent or a stray folder is 66") {
  Fixture f;
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
  Fixture f;
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
