// The writer's thread: one piece of work at a time, its result once, and no work left behind.
#include "checkpoint/writer.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <new>
#include <stdexcept>
#include <thread>

#include "checkpoint/sample_state.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::checkpoint;

namespace {

Saved saved_at(const std::string& path) {
  Saved saved;
  saved.path = path;
  return saved;
}

}  // namespace

TEST_CASE("work goes on beside the caller and its result is given once") {
  Writer writer;
  CHECK(!writer.busy());
  CHECK(!writer.take(true));
  for (int round = 0; round < 3; ++round) {
    std::promise<void> go;
    std::thread::id thread;
    writer.begin([&thread, wait = go.get_future().share()] {
      wait.wait();
      thread = std::this_thread::get_id();
      return saved_at("x");
    });
    CHECK(writer.busy());
    CHECK(!writer.take(false));
    CHECK_THROWS_WITH_AS(writer.begin([] { return Saved{}; }),
                         "error[checkpoint.busy]: a checkpoint is being written already", Error);
    go.set_value();
    const auto result = writer.take(true);
    REQUIRE(result);
    CHECK(result->saved->path == "x");
    CHECK(!result->failure);
    CHECK(thread != std::this_thread::get_id());
    CHECK(!writer.busy());
    CHECK(!writer.take(true));
  }
}

TEST_CASE("what the work throws is its result, with a code and a sentence") {
  Writer writer;
  const auto failure_of = [&](const Writer::Work& work) {
    writer.begin(work);
    const auto result = writer.take(true);
    CHECK(!result->saved);
    return *result->failure;
  };
  const Error full = failure_of([]() -> Saved { throw Error(ExitCode::kIoError, "io.disk_full", "/x", "full"); });
  CHECK(full.code() == ExitCode::kIoError);
  CHECK(full.reason() == "io.disk_full");
  CHECK(failure_of([]() -> Saved { throw std::bad_alloc(); }).code() == ExitCode::kHostOutOfMemory);
  const Error odd = failure_of([]() -> Saved { throw std::runtime_error("odd"); });
  CHECK(odd.code() == ExitCode::kBug);
  CHECK(odd.message() == "odd");
}

TEST_CASE("the end waits for the work in hand") {
  std::atomic<bool> done = false;
  {
    Writer writer;
    writer.begin([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      done = true;
      return Saved{};
    });
  }
  CHECK(done);
}

TEST_CASE("C52: each save in the background holds the state that was given to it, whatever became of it meanwhile") {
  const test::TempFolder temp{test::Where::kMemory};
  Store store(temp / test::kRunId, {10, 0});
  Writer writer;
  for (const std::int64_t update : {1, 2, 3, 4}) {
    test::SampleState state(update);
    writer.begin([&] { return store.save(state.view(), test::request_at(update)); });
    const auto result = writer.take(true);
    REQUIRE(result->saved);
    const Loaded loaded = Store::load(result->saved->path);
    CHECK(loaded.digest == result->saved->digest);
    CHECK(test::same_state(loaded.state, state.view()));
  }
}
