// A pool: what it counts, what it refuses, what it keeps.
#include "device/pool.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "device/domain_pool.hpp"
#include "device/fake_pages.hpp"

using namespace holdfast;
using device::Domain;
using device::MemoryExhausted;
using device::Pool;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Bench {
  explicit Bench(Domain domain = Domain::kDevice) : pool(domain, pages) {}
  tests::FakePages pages;
  Pool pool;
};

}  // namespace

TEST_CASE("bytes are counted as asked for, now, at the peak and in all") {
  Bench bench;
  void* first = bench.pool.allocate(1000);
  void* second = bench.pool.allocate(3 * kMiB + 1);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
  CHECK(reinterpret_cast<std::uintptr_t>(second) % 64 == 0);
  CHECK(bench.pool.reading().allocated == 1000 + 3 * kMiB + 1);
  Pool::free(second);
  const auto now = bench.pool.reading();
  CHECK(now.allocated == 1000);
  CHECK(now.peak == 1000 + 3 * kMiB + 1);
  CHECK(now.allocations == 2);
  CHECK(now.budget == 0);
  CHECK(now.reserved == bench.pages.mapped);
  Pool::free(first);
}

TEST_CASE("nothing is asked for with zero bytes, and nothing is freed with null") {
  Bench bench;
  CHECK(bench.pool.allocate(0) == nullptr);
  Pool::free(nullptr);
  CHECK(bench.pool.reading().allocations == 0);
  CHECK(bench.pages.mapped == 0);
}

TEST_CASE("a freed block is the next one of its size, without asking the system") {
  Bench bench;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{5000}, 9 * kMiB}) {
    void* data = bench.pool.allocate(bytes);
    const std::size_t mapped = bench.pages.mapped;
    Pool::free(data);
    CHECK(bench.pool.allocate(bytes - 1) == data);
    CHECK(bench.pages.mapped == mapped);
    Pool::free(data);
  }
}

TEST_CASE("over the budget: wanted, free and budget in a sentence, and nothing changed") {
  Bench bench;
  bench.pool.set_budget(std::int64_t{512} * kMiB);
  std::vector<void*> held = {bench.pool.allocate(400 * kMiB), bench.pool.allocate(100 * kMiB - 322122)};
  try {
    bench.pool.allocate(40 * kMiB);
    FAIL("served over the budget");
  } catch (const MemoryExhausted& refusal) {
    CHECK(std::string(refusal.what()) == "device memory: wanted 40.0 MiB, free 12.3 MiB of the budget of 512.0 MiB");
    CHECK(refusal.over_budget());
  }
  CHECK(bench.pool.reading().allocated == 500 * kMiB - 322122);
  CHECK(bench.pool.reading().peak == 500 * kMiB - 322122);
  CHECK(bench.pool.reading().budget == 512 * kMiB);
  held.push_back(bench.pool.allocate(12 * kMiB + 322122));  // to the byte
  CHECK_THROWS_WITH_AS(bench.pool.allocate(1), "device memory: wanted 1 B, free 0 B of the budget of 512.0 MiB",
                       MemoryExhausted);
  for (void* data : held) Pool::free(data);
}

TEST_CASE("kept blocks do not count against the budget") {
  Bench bench;
  bench.pool.set_budget(10 * kMiB);
  for (std::size_t bytes = kMiB; bytes <= 10 * kMiB; bytes += kMiB / 2) Pool::free(bench.pool.allocate(bytes));
  CHECK(bench.pool.reading().allocated == 0);
  CHECK(bench.pool.reading().reserved > 10 * kMiB);
}

TEST_CASE("a host pool names itself") {
  Bench bench(Domain::kHost);
  bench.pool.set_budget(100);
  CHECK_THROWS_WITH_AS(bench.pool.allocate(101), "host memory: wanted 101 B, free 100 B of the budget of 100 B",
                       MemoryExhausted);
}

TEST_CASE("when the system gives no more, kept blocks are given back before the verdict") {
  Bench bench;
  bench.pages.limit = 40 * kMiB;
  for (int i = 0; i < 3; ++i) {  // each would need the room that the other one keeps
    Pool::free(bench.pool.allocate(30 * kMiB));
    Pool::free(bench.pool.allocate(34 * kMiB));
  }
  CHECK(bench.pages.refused > 0);
  void* held = bench.pool.allocate(20 * kMiB);
  try {
    bench.pool.allocate(30 * kMiB);
    FAIL("served more than there is");
  } catch (const MemoryExhausted& refusal) {
    CHECK(std::string(refusal.what()) ==
          "device memory: wanted 30.0 MiB, which the system does not give (20.0 MiB in use)");
    CHECK_FALSE(refusal.over_budget());
  }
  CHECK(bench.pool.reading().allocated == 20 * kMiB);
  Pool::free(held);
  CHECK_THROWS_AS(bench.pool.allocate(std::size_t{1} << 55), MemoryExhausted);
  CHECK_THROWS_AS(bench.pool.allocate(~std::size_t{0}), MemoryExhausted);
}

TEST_CASE("what is held from the system stays near the peak when sizes never repeat") {
  Bench bench;
  std::size_t most = 0;
  for (std::size_t i = 0; i < 400; ++i) {
    std::vector<void*> held;
    for (std::size_t k = 1; k <= 8; ++k) held.push_back(bench.pool.allocate(k * kMiB + i * 64 * 1024));
    most = std::max(most, bench.pages.mapped);
    for (void* data : held) Pool::free(data);
  }
  const auto peak = static_cast<std::size_t>(bench.pool.reading().peak);
  CHECK(most <= peak / 4 * 5 + 32 * kMiB);
}

TEST_CASE("release gives back all that is free") {
  Bench bench;
  void* held = bench.pool.allocate(100);
  std::vector<void*> freed;
  for (std::size_t bytes = 64; bytes < 20 * kMiB; bytes *= 3) freed.push_back(bench.pool.allocate(bytes));
  for (void* data : freed) Pool::free(data);
  bench.pool.release();
  CHECK(bench.pages.mapped == 2 * kMiB);  // the segment of the small one
  CHECK(bench.pool.reading().reserved == 2 * kMiB);
  Pool::free(held);
  bench.pool.release();
  CHECK(bench.pages.mapped == 0);
  CHECK(bench.pool.reading().reserved == 0);
}

TEST_CASE("the n-th allocation can be made to fail, once") {
  Bench bench;
  bench.pool.refuse_after(3);
  std::vector<void*> held = {bench.pool.allocate(64), bench.pool.allocate(64)};
  CHECK_THROWS_WITH_AS(bench.pool.allocate(64), "device memory: wanted 64 B, free 0 B of the budget of 128 B",
                       MemoryExhausted);
  held.push_back(bench.pool.allocate(64));
  CHECK(bench.pool.reading().allocations == 3);
  for (void* data : held) Pool::free(data);
}

TEST_CASE("device allocations where none are promised are served and counted") {
  Bench bench, other(Domain::kHost);
  Pool::free(bench.pool.allocate(64));
  {
    const device::NoAllocationScope promised;
    Pool::free(bench.pool.allocate(64));
    Pool::free(other.pool.allocate(64));
  }
  Pool::free(bench.pool.allocate(64));
  CHECK(bench.pool.reading().forbidden == 1);
  CHECK(other.pool.reading().forbidden == 0);
}

TEST_CASE("domain scopes nest and belong to a thread") {
  CHECK(device::current_domain() == Domain::kDevice);
  {
    const device::HostScope host;
    CHECK(device::current_domain() == Domain::kHost);
    {
      const device::DomainScope back(Domain::kDevice);
      CHECK(device::current_domain() == Domain::kDevice);
    }
    CHECK(device::current_domain() == Domain::kHost);
  }
  CHECK(device::current_domain() == Domain::kDevice);
}

TEST_CASE("a child process goes on allocating") {
  void* data = device::pool_of(Domain::kDevice).allocate(1000);
  std::memset(data, 7, 1000);
  const pid_t child = fork();
  if (child == 0) {
    void* own = device::pool_of(Domain::kDevice).allocate(5000);
    const bool intact = static_cast<unsigned char*>(data)[999] == 7 && own != data;
    Pool::free(own);
    Pool::free(data);
    _exit(intact ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  Pool::free(data);
}
