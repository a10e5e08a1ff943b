// Figures of phases, over a meter that says what the test wants and over a pool.
#include "device/phase_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "device/fake_pages.hpp"
#include "device/pool.hpp"

using namespace holdfast;
using device::PhaseMemory;

namespace {

struct FakeMeter : device::MemoryMeter {
  device::MemoryReading reading() const noexcept override { return now; }
  std::int64_t open_peak() noexcept override {
    ++opened;
    return std::exchange(now.peak, now.allocated);
  }
  std::int64_t close_peak(std::int64_t outer) noexcept override {
    const std::int64_t own = now.peak;
    now.peak = std::max(own, outer);
    return own;
  }
  void set(std::int64_t allocated) {
    now.allocated = allocated;
    now.peak = std::max(now.peak, allocated);
  }
  device::MemoryReading now;
  int opened = 0;
};

}  // namespace

TEST_CASE("a phase tells its peak, its rise and what it left behind; nested ones tell their own") {
  FakeMeter meter;
  PhaseMemory memory(meter);
  meter.set(100);
  {
    const PhaseMemory::Scope forward(&memory, "forward");
    meter.set(150);
    {
      const PhaseMemory::Scope block(&memory, "block.1");
      meter.set(400);
      meter.set(180);
    }
    meter.set(200);
    meter.set(170);
  }
  REQUIRE(memory.figures().size() == 2);
  const auto& forward = memory.figures()[0];
  CHECK(forward.name == "forward");
  CHECK(forward.times == 1);
  CHECK(forward.peak == 400);
  CHECK(forward.rise == 300);
  CHECK(forward.kept == 70);
  const auto& block = memory.figures()[1];
  CHECK(block.name == "block.1");
  CHECK(block.peak == 400);
  CHECK(block.rise == 250);
  CHECK(block.kept == 30);
}

TEST_CASE("a phase entered again keeps its highest peak and its last remainder") {
  FakeMeter meter;
  PhaseMemory memory(meter);
  for (const std::int64_t top : {50, 90, 20}) {
    const PhaseMemory::Scope scope(&memory, "backward");
    meter.set(top);
    meter.set(top / 10);
  }
  REQUIRE(memory.figures().size() == 1);
  CHECK(memory.figures()[0].times == 3);
  CHECK(memory.figures()[0].peak == 90);
  CHECK(memory.figures()[0].rise == 85);
  CHECK(memory.figures()[0].kept == -7);
  memory.clear();
  CHECK(memory.figures().empty());
}

TEST_CASE("without a recorder nothing is asked of the meter") {
  FakeMeter meter;
  { const PhaseMemory::Scope scope(nullptr, "forward"); }
  CHECK(meter.opened == 0);
}

TEST_CASE("a pool's overall peak survives the peaks of scopes") {
  tests::FakePages pages;
  device::Pool pool(device::Domain::kDevice, pages);
  PhaseMemory memory(pool);
  device::Pool::free(pool.allocate(5000));
  void* held = pool.allocate(100);
  {
    const PhaseMemory::Scope scope(&memory, "forward");
    device::Pool::free(pool.allocate(900));
  }
  CHECK(memory.figures()[0].peak == 1000);
  CHECK(pool.reading().peak == 5000);
  {
    const PhaseMemory::Scope scope(&memory, "forward");
    device::Pool::free(pool.allocate(7000));
  }
  CHECK(pool.reading().peak == 7100);
  device::Pool::free(held);
}
