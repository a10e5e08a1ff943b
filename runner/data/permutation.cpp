// Feistel network with cycle walking.
#include "data/permutation.hpp"

#include <algorithm>
#include <bit>

namespace holdfast::data {
namespace {

constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15ULL;

// Finaliser of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace

Permutation::Permutation(std::int64_t size, std::uint64_t seed, std::int64_t epoch)
    : size_(static_cast<std::uint64_t>(size)) {
  // Below 16 values the halves would be too small to mix; walking makes up for the larger domain.
  const int bits = std::max(4, static_cast<int>(std::bit_width(size_ - 1)));
  low_bits_ = (bits + 1) / 2;
  high_bits_ = bits / 2;
  std::uint64_t state = mix(seed + kGamma) ^ mix(static_cast<std::uint64_t>(epoch) * kGamma + 0x5851F42D4C957F2DULL);
  for (auto& key : keys_) key = mix(state += kGamma);
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  int left_bits = high_bits_, right_bits = low_bits_;
  std::uint64_t right = value & ((1ULL << right_bits) - 1), left = value >> right_bits;
  for (const std::uint64_t key : keys_) {
    const std::uint64_t next = left ^ (mix(right + key) & ((1ULL << left_bits) - 1));
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
