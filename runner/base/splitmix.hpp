// The finaliser of SplitMix64: turns a counter or key into well-mixed bits. Not for secrets.
#pragma once

#include <cstdint>

namespace holdfast::base {

inline constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15ULL;

/// A bijection of 64 bits in which every input bit changes about half of the output (Steele, Lea, Flood: Fast
/// Splittable Pseudorandom Number Generators, 2014).
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace holdfast::base
