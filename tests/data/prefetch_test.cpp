// Background threads change neither content nor order; failures come in order; shutdown is prompt.
#include "data/prefetch.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

using holdfast::data::Prefetch;
using Strings = Prefetch<std::string>;

TEST_CASE("items come in order whatever the number of threads and the depth") {
  for (const int threads : {0, 1, 2, 5})
    for (const int depth : {1, 2, 3, 8}) {
      Strings prefetch({10, 210}, threads, depth, [](std::int64_t n) {
        if (n % 7 == 0) std::this_thread::yield();
        return std::to_string(n);
      });
      for (int n = 10; n < 210; ++n) REQUIRE(prefetch.next() == std::to_string(n));
      CHECK(prefetch.done());
    }
}

TEST_CASE("at most `depth` items exist at a time") {
  struct Counted {
    explicit Counted(std::atomic<int>& alive) : alive_(&alive) { ++alive; }
    Counted(Counted&& other) noexcept : alive_(std::exchange(other.alive_, nullptr)) {}
    Counted& operator=(Counted&& other) noexcept {
      std::swap(alive_, other.alive_);
      return *this;
    }
    ~Counted() {
      if (alive_) --*alive_;
    }
    std::atomic<int>* alive_;
  };
  std::atomic<int> alive = 0, most = 0;
  Prefetch<Counted> prefetch({0, 300}, 3, 6, [&](std::int64_t) {
    Counted item(alive);
    int seen = alive, before = most;
    while (seen > before && !most.compare_exchange_weak(before, seen)) {
    }
    return item;
  });
  while (!prefetch.done()) prefetch.next();
  CHECK(most <= 7);  // six in the ring and the one that the loop holds
}

TEST_CASE("a failure is delivered in its place, after the items before it") {
  for (const int threads : {0, 1, 4}) {
    Strings prefetch({0, 100}, threads, 8, [](std::int64_t n) {
      if (n >= 5) throw std::runtime_error("item " + std::to_string(n));
      return std::to_string(n);
    });
    for (int n = 0; n < 5; ++n) CHECK(prefetch.next() == std::to_string(n));
    CHECK_THROWS_WITH(prefetch.next(), "item 5");
  }
}

TEST_CASE("it can be left at any time: full, half taken, before the first item") {
  for (int taken = 0; taken < 6; ++taken) {
    Strings prefetch({0, 1000000000}, 3, 4, [](std::int64_t n) { return std::to_string(n); });
    for (int n = 0; n < taken; ++n) CHECK(prefetch.next() == std::to_string(n));
  }
}

TEST_CASE("each thread is prepared before its first item") {
  std::atomic<int> prepared = 0;
  thread_local bool ready = false;
  Prefetch<bool> prefetch(
      {0, 50}, 2, 4, [](std::int64_t) { return ready; },
      [&] {
        ready = true;
        ++prepared;
      });
  while (!prefetch.done()) CHECK(prefetch.next());
  CHECK(prepared <= 2);
}

TEST_CASE("who no longer wants to wait gets nothing, and the item stays the next one") {
  std::promise<void> go;
  const auto gate = go.get_future().share();
  Strings prefetch({0, 3}, 1, 2, [gate](std::int64_t n) {
    if (n == 1) gate.wait();
    return std::to_string(n);
  });
  CHECK(prefetch.next([] { return false; }) == "0");
  CHECK(!prefetch.next([] { return true; }));
  go.set_value();
  CHECK(prefetch.next([] { return false; }) == "1");
  CHECK(prefetch.next() == "2");
}

TEST_CASE("a thread that does not come back is left behind and counted; one that does is waited for") {
  using namespace std::chrono_literals;
  std::promise<void> go, gone;
  const auto gate = go.get_future().share();
  auto stuck = std::make_unique<Strings>(Strings::Range{0, 3}, 1, 2, [gate, &gone](std::int64_t) {
    gate.wait();
    gone.set_value();
    return std::string();
  });
  CHECK(!stuck->next([] { return true; }));
  CHECK(!stuck->stop_within(1ms));
  CHECK(holdfast::data::threads_left_behind == 1);
  go.set_value();
  gone.get_future().wait();
  CHECK(stuck->stop_within(10s));
  stuck.reset();  // every thread has ended after all
  holdfast::data::threads_left_behind = 0;
  Strings free({0, 3}, 2, 2, [](std::int64_t n) { return std::to_string(n); });
  CHECK(free.next() == "0");
  CHECK(free.stop_within(10s));
}
