// Arenas: blocks never overlap, neighbours join, and all of it can be given back.
#include "device/arena.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "device/fake_pages.hpp"

using namespace holdfast;
using device::Arena;
using device::Block;

namespace {
constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Bench {
  tests::FakePages pages;
  Arena arena{pages, 2 * kMiB, 128};

  Block* get(std::size_t bytes) {
    Block* block = arena.take(bytes);
    if (!block && arena.grow(bytes)) block = arena.take(bytes);
    return block;
  }
};

}  // namespace

TEST_CASE("freed neighbours join, in whatever order they come back") {
  std::vector<std::vector<int>> orders = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    Bench bench;
    std::vector<Block*> blocks;
    for (int i = 0; i < 3; ++i) blocks.push_back(bench.get(640 * 1024));
    CHECK(bench.pages.mapped == 2 * kMiB);
    CHECK(bench.arena.take(640 * 1024) == nullptr);
    for (const int i : order) bench.arena.give(blocks[static_cast<std::size_t>(i)]);
    Block* whole = bench.arena.take(2 * kMiB - 64);  // a segment less its end
    REQUIRE(whole != nullptr);
    bench.arena.give(whole);
    bench.arena.release();
    CHECK(bench.pages.mapped == 0);
    CHECK(bench.arena.reserved() == 0);
  }
}

TEST_CASE("the best fit is taken, and its rest stays usable") {
  Bench bench;
  Block* first = bench.get(1024 * 512);
  Block* wall = bench.get(128);
  Block* second = bench.get(1024 * 64);
  Block* end = bench.get(128);
  bench.arena.give(first);
  bench.arena.give(second);
  Block* small = bench.arena.take(1024 * 60);
  CHECK(small == second);
  Block* rest = bench.arena.take(1024 * 4);
  CHECK(rest->begin() == second->begin() + 1024 * 60);
  for (Block* block : {wall, end, small, rest}) bench.arena.give(block);
  bench.arena.release();
  CHECK(bench.pages.mapped == 0);
}

TEST_CASE("huge pages inside a free block go back although a neighbour is in use") {
  Bench bench;
  Block* block = bench.get(32 * kMiB);
  Block* pin = bench.get(128);
  std::memset(block->data(), 1, 32 * kMiB - sizeof(Block));
  const std::size_t before = bench.arena.reserved();
  bench.arena.give(block);
  bench.arena.release();
  CHECK(bench.pages.discarded == 30 * kMiB);  // all but the huge page with the header
  CHECK(bench.arena.reserved() == before - 30 * kMiB);
  bench.arena.release();
  CHECK(bench.pages.discarded == 30 * kMiB);
  block = bench.arena.take(16 * kMiB);
  CHECK(bench.arena.reserved() == before);
  bench.arena.give(block);
  bench.arena.give(pin);
  bench.arena.release();
  CHECK(bench.pages.mapped == 0);
  CHECK(bench.arena.reserved() == 0);
}

TEST_CASE("random taking and giving: no block touches another, everything comes back") {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    Bench bench;
    std::mt19937 random(seed);
    std::vector<std::pair<Block*, std::byte>> held;
    for (int i = 0; i < 2000; ++i) {
      if (held.size() < 40 && random() % 3 != 0) {
        const std::size_t bytes = 128 + 64 * (random() % (random() % 8 == 0 ? 40000 : 200));
        Block* block = bench.get(bytes);
        REQUIRE(block->bytes >= bytes);
        const auto mark = static_cast<std::byte>(random());
        std::memset(block->data(), static_cast<int>(mark), block->bytes - sizeof(Block));
        held.emplace_back(block, mark);
      } else if (!held.empty()) {
        const std::size_t index = random() % held.size();
        const auto [block, mark] = held[index];
        const auto* data = static_cast<const std::byte*>(block->data());
        bool intact = true;
        for (std::size_t at = 0; at < block->bytes - sizeof(Block); at += 61) intact = intact && data[at] == mark;
        REQUIRE(intact);
        bench.arena.give(block);
        held[index] = held.back();
        held.pop_back();
      }
      if (i % 500 == 0) bench.arena.release();
    }
    for (const auto& [block, mark] : held) bench.arena.give(block);
    bench.arena.release();
    CHECK(bench.pages.mapped == 0);
    CHECK(bench.arena.reserved() == 0);
    CHECK(bench.pages.whole);
  }
}
