// Pools under several threads; meant for the preset tsan as well.
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "device/domain_pool.hpp"
#include "device/fake_pages.hpp"
#include "device/pool.hpp"

using namespace holdfast;
using device::Domain;
using device::Pool;

TEST_CASE("blocks freed on other threads go back to their pool, and the counts come out at zero") {
  tests::FakePages pages;  // used under the pools' locks: one each
  tests::FakePages other_pages;
  Pool pool(Domain::kDevice, pages), other(Domain::kHost, other_pages);
  std::mutex mutex;
  std::vector<std::pair<unsigned char*, std::size_t>> shared;
  std::atomic<bool> wrong = false, done = false;
  const auto work = [&](unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < 3000; ++i) {
      const std::size_t bytes = 1 + random() % (random() % 50 == 0 ? 300000 : 3000);
      auto* data = static_cast<unsigned char*>((random() % 2 ? pool : other).allocate(bytes));
      std::memset(data, static_cast<int>(bytes % 251), bytes);
      const std::lock_guard lock(mutex);
      shared.emplace_back(data, bytes);
      std::swap(shared.back(), shared[random() % shared.size()]);
      const auto [taken, size] = shared.back();
      if (shared.size() > 20) {
        if (taken[0] != size % 251 || taken[size - 1] != size % 251) wrong = true;
        Pool::free(taken);
        shared.pop_back();
      }
      if (i % 1000 == 0) pool.release();
    }
  };
  std::thread reader([&] {
    while (!done)
      if (pool.reading().allocated < 0) wrong = true;
  });
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  for (auto& thread : threads) thread.join();
  done = true;
  reader.join();
  for (const auto& [data, bytes] : shared) Pool::free(data);
  CHECK_FALSE(wrong);
  for (const Pool* one : {&pool, &other}) CHECK(one->reading().allocated == 0);
  CHECK(pool.reading().allocations + other.reading().allocations == 12000);
}

TEST_CASE("a budget holds to the byte under several threads") {
  tests::FakePages pages;
  Pool pool(Domain::kDevice, pages);
  pool.set_budget(64000);
  std::atomic<int> served = 0, refused = 0;
  std::mutex mutex;
  std::vector<void*> held;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 40; ++i) try {
          void* data = pool.allocate(640);
          ++served;
          const std::lock_guard lock(mutex);
          held.push_back(data);
        } catch (const device::MemoryExhausted&) {
          ++refused;
        }
    });
  for (auto& thread : threads) thread.join();
  CHECK(served == 100);
  CHECK(refused == 60);
  CHECK(pool.reading().peak == 64000);
  for (void* data : held) Pool::free(data);
}

TEST_CASE("each thread begins in the device domain and may move for good") {
  Domain first = Domain::kHost, then = Domain::kDevice;
  std::thread([&] {
    first = device::current_domain();
    device::set_thread_domain(Domain::kHost);
    then = device::current_domain();
  }).join();
  CHECK(first == Domain::kDevice);
  CHECK(then == Domain::kHost);
  CHECK(device::current_domain() == Domain::kDevice);
}
