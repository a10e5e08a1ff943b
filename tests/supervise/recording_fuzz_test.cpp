// The reader of recorder.bin against files that nobody wrote.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <random>

#include "supervise/recorder.hpp"
#include "supervise/recording.hpp"
#include "temp_folder.hpp"

using namespace holdfast::supervise;
using holdfast::test::TempFolder;
using holdfast::test::write_text;

namespace {

std::string whole_file() {
  const TempFolder folder;
  RecorderOptions options;
  std::string why;
  auto recorder = Recorder::open(folder / "r", Attempt{}, std::move(options), why);
  recorder->window(1, 1, 0, 32, 0.5, true);
  recorder->shortage(1, 1, "forward", "save", "text");
  recorder.reset();
  return holdfast::test::read_text(folder / "r");
}

std::string fault_of(const std::string& bytes) {
  const TempFolder folder;
  write_text(folder / "r", bytes);
  const auto found = read_recording(folder / "r");
  return std::string(access_name(found.access)) + ": " + found.fault;
}

}  // namespace

TEST_CASE("a file that is no record of this version is told as broken, with the reason") {
  std::string bytes = whole_file();
  CHECK(fault_of("") == "broken: it is too short");
  CHECK(fault_of(bytes.substr(0, bytes.size() - 1)) == "broken: it is too short");
  CHECK(fault_of(std::string(bytes.size(), '\0')) == "broken: it is no flight recorder's file");
  std::string other = bytes;
  other[8] = 9;
  CHECK(fault_of(other) == "broken: it has version 9, this holdfast reads version 2");
  other = bytes;
  other[12] = 1;
  CHECK(fault_of(other) == "broken: its ring has another length");
  other = bytes;
  other[40] = static_cast<char>(other[40] + 1);
  CHECK(fault_of(other) == "broken: its attempt is damaged");
}

TEST_CASE("what is no regular file is never waited for, and what is not there is absent") {
  const TempFolder folder;
  CHECK(read_recording(folder / "none").access == Access::kAbsent);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(read_recording(folder / "pipe").access == Access::kBroken);
  REQUIRE(::symlink("/etc/passwd", (folder / "link").c_str()) == 0);
  CHECK(read_recording(folder / "link").access == Access::kBroken);
  CHECK(read_recording(folder.path()).access == Access::kBroken);
}

TEST_CASE("random damage never crashes the reader, and a value with a wrong checksum is never given") {
  const std::string bytes = whole_file();
  const TempFolder folder(holdfast::test::Where::kMemory);
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = bytes;
    const std::size_t region = round % 2 == 0 ? 16384 : damaged.size();
    for (int i = 0; i < 1 + round % 9; ++i) damaged[random() % region] = static_cast<char>(random());
    write_text(folder / "r", damaged);
    const auto found = read_recording(folder / "r");
    if (!found) continue;
    CHECK(found.value.samples.size() <= kSamples);
    if (found.value.live) CHECK(found.value.live->update <= 1);
    if (found.value.shortage) CHECK(found.value.shortage->text.view() == "text");
  }
}

TEST_CASE("a phase or sign that is none becomes one: only a forger can write it") {
  std::string bytes = whole_file();
  const auto record = std::make_unique<RecordFile>();
  std::memcpy(record.get(), bytes.data(), sizeof(RecordFile));
  for (auto& slot : record->live) {
    slot.sequence = 9;
    slot.value.phase = static_cast<Phase>(77);
    slot.value.sign = static_cast<Sign>(78);
    slot.checksum = slot_checksum(9, &slot.value, sizeof slot.value);
  }
  const TempFolder folder;
  write_text(folder / "r", std::string(reinterpret_cast<const char*>(record.get()), sizeof(RecordFile)));
  const auto found = read_recording(folder / "r");
  REQUIRE(found.value.live);
  CHECK(phase_name(found.value.live->phase) == "training");
  CHECK(sign_name(found.value.live->sign) == "a look for stop requests");
}
