// Feistel network with cycle walking.
#include "data/permutation.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/splitmix.hpp"

namespace holdfast::data {

Permutation::Permutation(std::int64_t size, std::uint64_t seed, std::int64_t epoch)
    : size_(static_cast<std::uint64_t>(size)) {
  // Below 16 values the halves would be too small to mix; walking makes up for the larger domain.
  const int bits = std::max(4, static_cast<int>(std::bit_width(size_ - 1)));
  low_bits_ = (bits + 1) / 2;
  high_bits_ = bits / 2;
  std::uint64_t state = base::mix(seed + base::kGoldenGamma) ^
                        base::mix(static_cast<std::uint64_t>(epoch) * base::kGoldenGamma + 0x5851F42D4C957F2DULL);
  for (auto& key : keys_) key = base::mix(state += base::kGoldenGamma);
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  int left_bits = high_bits_, right_bits = low_bits_;
  std::uint64_t right = value & ((1ULL << right_bits) - 1), left = value >> right_bits;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ (base::mix(right + key) & ((1ULL << left_bits) - 1));
    left = right;
    right = next;
    std::swap(left_bits, right_bits);
  }
  return (left << low_bits_) | right;
}

std::int64_t Permutation::operator()(std::int64_t position) const {
  auto value = static_cast<std::uint64_t>(position);
  do value = encrypt(value);
  while (value >= size_);
  return static_cast<std::int64_t>(value);
}

}  // namespace holdfast::data
