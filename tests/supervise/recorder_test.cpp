// The flight recorder: what stands in the file after a kill, after a torn write, and while it is written.
#include "supervise/recorder.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>

#include "child_process.hpp"
#include "supervise/recording.hpp"
#include "temp_folder.hpp"

using namespace holdfast::supervise;
using holdfast::test::ChildProcess;
using holdfast::test::TempFolder;

namespace {

Attempt some_attempt() {
  Attempt attempt;
  attempt.number = 3;
  attempt.pid = 4711;
  attempt.boot_id.set("boot");
  return attempt;
}

std::unique_ptr<Recorder> open_at(const std::string& path, Placement placement = Placement::kByFileSystem) {
  RecorderOptions options;
  options.placement = placement;
  std::string why;
  auto recorder = Recorder::open(path, some_attempt(), std::move(options), why);
  REQUIRE_MESSAGE(recorder, why);
  return recorder;
}

void write_over(const std::string& path, std::size_t offset, const std::string& bytes) {
  const int file = ::open(path.c_str(), O_WRONLY);
  REQUIRE(::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes.size()));
  ::close(file);
}

}  // namespace

TEST_CASE("a process killed with SIGKILL leaves its last update in the recorder") {
  const TempFolder folder;
  const std::string path = folder / "recorder.bin";
  ChildProcess child([&](int report) {
    auto recorder = open_at(path);
    for (std::int64_t i = 1; i <= 1000; ++i) recorder->window(i, i + 1, 2, 32 * i, 1.0 / static_cast<double>(i), true);
    recorder->shortage(1000, 4, "backward", "halve the micro-batch", "no memory for 4 GiB");
    recorder->stop("SIGTERM from pid 1");
    ChildProcess::report(report, "x");
    ::pause();
  });
  child.await_byte();
  child.kill();
  const auto found = read_recording(path);
  REQUIRE(found);
  CHECK(found.value.attempt.number == 3);
  CHECK(found.value.attempt.pid == 4711);
  REQUIRE(found.value.live);
  CHECK(found.value.live->update == 1000);
  CHECK(found.value.live->window == 1001);
  CHECK(found.value.live->samples_seen == 32000);
  CHECK(found.value.live->loss == 0.001);
  CHECK(found.value.live->phase == Phase::kTraining);
  CHECK(found.value.live->sign == Sign::kWindow);
  REQUIRE(found.value.shortage);
  CHECK(found.value.shortage->text.view() == "no memory for 4 GiB");
  CHECK(found.value.shortage->action.view() == "halve the micro-batch");
  REQUIRE(found.value.stop);
  CHECK(found.value.stop->why.view() == "SIGTERM from pid 1");
  CHECK_FALSE(found.value.fatal);
  CHECK_FALSE(found.value.samples.empty());
}

TEST_CASE("the first sign of divergence stands beside their number") {
  const TempFolder folder;
  const std::string path = folder / "recorder.bin";
  const auto recorder = open_at(path);
  recorder->window(7, 8, 0, 256, 0.5, true);
  CHECK(read_recording(path).value.live->bad_updates == 0);
  for (const std::int64_t update : {8, 8, 12}) recorder->diverged(update);
  const auto found = read_recording(path);
  CHECK(found.value.live->bad_updates == 3);
  CHECK(found.value.live->first_bad_update == 8);
  CHECK(found.value.live->update == 7);
}

TEST_CASE("killed at any instant of a record, the one before it still stands") {
  const TempFolder folder;
  const std::string path = folder / "recorder.bin";
  for (int round = 0; round < 20; ++round) {
    ChildProcess child([&](int report) {
      auto recorder = open_at(path);
      ChildProcess::report(report, "x");
      for (std::int64_t i = 1;; ++i) recorder->window(i, 2 * i, 3 * i, 4 * i, static_cast<double>(i), true);
    });
    child.await_byte();
    ::usleep(static_cast<useconds_t>(500 + 137 * round));
    child.kill();
    const auto found = read_recording(path);
    REQUIRE(found);
    REQUIRE(found.value.live);
    const Live& live = *found.value.live;
    CHECK(live.window == 2 * live.update);
    CHECK(live.epoch == 3 * live.update);
    CHECK(live.samples_seen == 4 * live.update);
    CHECK(live.loss == static_cast<double>(live.update));
  }
}

TEST_CASE("a torn copy is passed over for the older one, two torn copies are told as nothing") {
  const TempFolder folder;
  const std::string path = folder / "recorder.bin";
  {
    auto recorder = open_at(path);
    recorder->window(1, 1, 0, 32, 0.5, true);
    recorder->window(2, 2, 0, 64, 0.25, true);
  }
  const auto whole = read_recording(path);
  REQUIRE(whole.value.live);
  CHECK(whole.value.live->update == 2);
  const std::size_t newest = offsetof(RecordFile, live) + (3 % 2) * sizeof(Slot<Live>);  // the third record
  write_over(path, newest + 16, "torn");
  const auto older = read_recording(path);
  REQUIRE(older.value.live);
  CHECK(older.value.live->update == 1);
  write_over(path, offsetof(RecordFile, live) + 16, "torn");
  CHECK_FALSE(read_recording(path).value.live);
}

TEST_CASE("on a distant file system the thread writes what changed, and the end writes the rest") {
  const TempFolder folder;
  const std::string path = folder / "recorder.bin";
  auto recorder = open_at(path, Placement::kWritten);
  recorder->window(7, 8, 1, 224, 0.125, true);
  std::int64_t update = 0;
  for (int i = 0; i < 500 && update != 7; ++i) {
    ::usleep(10000);
    const auto found = read_recording(path);
    update = found && found.value.live ? found.value.live->update : 0;
  }
  CHECK(update == 7);
  recorder->window(8, 9, 1, 256, 0.0625, true);
  recorder.reset();
  CHECK(read_recording(path).value.live->update == 8);
}

TEST_CASE("a fault is recorded once, and stands without any thread's help") {
  for (const Placement placement : {Placement::kMapped, Placement::kWritten}) {
    const TempFolder folder;
    const std::string path = folder / "recorder.bin";
    ChildProcess child([&](int) {
      auto recorder = open_at(path, placement);
      Fatal fault;
      fault.signal = SIGBUS;
      fault.address = 0x1234;
      fault.plugin.set("mlp");
      fault.mapping.set("/dev/shm/batch");
      recorder->fatal(fault);
      fault.signal = SIGABRT;
      recorder->fatal(fault);
      ::kill(::getpid(), SIGKILL);
    });
    child.wait();
    const auto found = read_recording(path);
    REQUIRE(found);
    REQUIRE(found.value.fatal);
    CHECK(found.value.fatal->signal == SIGBUS);
    CHECK(found.value.fatal->address == 0x1234);
    CHECK(found.value.fatal->plugin.view() == "mlp");
    CHECK(found.value.fatal->mapping.view() == "/dev/shm/batch");
  }
}

TEST_CASE("samples come in order, and the ring keeps the newest ten minutes") {
  const TempFolder folder;
  const std::string path = folder / "recorder.bin";
  std::atomic<std::int64_t> count{0};
  RecorderOptions options;
  options.every = std::chrono::milliseconds(0);
  options.sample = [&](Sample& sample) { sample.resident = ++count; };
  std::string why;
  auto recorder = Recorder::open(path, some_attempt(), std::move(options), why);
  REQUIRE(recorder);
  while (count < 2 * kSamples) ::usleep(1000);
  recorder.reset();
  const auto found = read_recording(path);
  REQUIRE(found.value.samples.size() == kSamples);
  CHECK(found.value.samples.back().resident == count);
  for (std::size_t i = 1; i < found.value.samples.size(); ++i)
    CHECK(found.value.samples[i].resident == found.value.samples[i - 1].resident + 1);
}

TEST_CASE("a recorder that cannot be made is told in a sentence and is no error") {
  std::string why;
  CHECK(Recorder::open("/nonexistent/recorder.bin", some_attempt(), {}, why) == nullptr);
  CHECK(why ==
        "the flight recorder /nonexistent/recorder.bin cannot be written (No such file or directory): `holdfast why` "
        "will "
        "know less of a sudden death");
}

TEST_CASE("the file has its whole size from the beginning: a full disk cannot end the run through it") {
  const TempFolder folder;
  auto recorder = open_at(folder / "recorder.bin");
  struct stat info {};
  REQUIRE(::stat((folder / "recorder.bin").c_str(), &info) == 0);
  CHECK(info.st_size == static_cast<off_t>(sizeof(RecordFile)));
  CHECK(info.st_blocks * 512 >= info.st_size);
}

TEST_CASE("a loop, a watcher and a reader may work at the same time") {
  const TempFolder folder;
  auto recorder = open_at(folder / "recorder.bin");
  std::thread watcher([&] {
    for (int i = 0; i < 200; ++i) recorder->stop("SIGTERM from pid " + std::to_string(i));
  });
  for (std::int64_t i = 1; i <= 2000; ++i) {
    recorder->window(i, i, 0, i, 0.5, i % 2 == 0);
    recorder->beat();
    if (i % 500 == 0) CHECK(read_pulse(folder / "recorder.bin").value.live->update <= i);
  }
  watcher.join();
  const auto found = read_recording(folder / "recorder.bin");
  CHECK(found.value.live->dropped == 1000);
  CHECK(found.value.live->beats == 4000);
  CHECK(found.value.live->sign == Sign::kPoll);
}
