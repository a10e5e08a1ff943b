// The epoch order is a bijection that depends on seed and epoch, and looks random.
#include "data/permutation.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <vector>

using holdfast::data::Permutation;

namespace {
std::vector<std::int64_t> order(std::int64_t size, std::uint64_t seed, std::int64_t epoch) {
  const Permutation permutation(size, seed, epoch);
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < size; ++i) result.push_back(permutation(i));
  return result;
}
}  // namespace

TEST_CASE("every index appears exactly once, for every size") {
  for (std::int64_t size = 1; size <= 300; ++size) {
    std::vector<bool> seen(static_cast<std::size_t>(size));
    for (const auto index : order(size, 7, 3)) {
      REQUIRE(index >= 0);
      REQUIRE(index < size);
      REQUIRE_FALSE(seen[static_cast<std::size_t>(index)]);
      seen[static_cast<std::size_t>(index)] = true;
    }
  }
}

TEST_CASE("seed and epoch choose the order") {
  CHECK(order(1000, 1, 0) == order(1000, 1, 0));
  CHECK(order(1000, 1, 0) != order(1000, 2, 0));
  CHECK(order(1000, 1, 0) != order(1000, 1, 1));
}

TEST_CASE("huge data sets need no array") {
  const Permutation permutation(std::int64_t{1} << 40, 5, 0);
  CHECK(permutation(0) < (std::int64_t{1} << 40));
  CHECK(permutation(0) != permutation(1));
}

TEST_CASE("each position gets each index about equally often over many epochs") {
  constexpr std::int64_t kSize = 10, kEpochs = 20000;
  std::vector<int> counts(kSize * kSize);
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch)
    for (std::int64_t i = 0; i < kSize; ++i)
      ++counts[static_cast<std::size_t>(i * kSize + Permutation(kSize, 11, epoch)(i))];
  // Binomial(20000, 0.1): mean 2000, deviation 42; six of them.
  for (const int count : counts) CHECK(std::abs(count - 2000) < 255);
}

TEST_CASE("neighbours of the file are not neighbours of the order") {
  const auto shuffled = order(4096, 3, 0);
  int neighbours = 0;
  for (std::size_t i = 1; i < shuffled.size(); ++i) neighbours += std::llabs(shuffled[i] - shuffled[i - 1]) == 1;
  CHECK(neighbours < 16);  // two expected
}
