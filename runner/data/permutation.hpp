// The order of one epoch as a keyed permutation, computed per index: no array of N, no state to save. Torch-free.
#pragma once

#include <array>
#include <cstdint>

namespace holdfast::data {

/// A bijection of [0, size), chosen by (seed, epoch). The same three numbers give the same order on every machine.
/// A Feistel network over the smallest power of two that holds `size`, walked until the value falls below `size`
/// (Black, Rogaway: Ciphers with Arbitrary Finite Domains, 2002): under two rounds of the network on average.
class Permutation {
 public:
  /// size >= 1. Cheap: made anew for every window.
  Permutation(std::int64_t size, std::uint64_t seed, std::int64_t epoch);
  /// The sample at `position`, which lies in [0, size).
  [[nodiscard]] std::int64_t operator()(std::int64_t position) const;

 private:
  static constexpr int kRounds = 6;  // even, so that unequal halves are back in place at the end
  [[nodiscard]] std::uint64_t encrypt(std::uint64_t value) const;

  std::uint64_t size_;
  int low_bits_, high_bits_;
  std::array<std::uint64_t, kRounds> keys_;
};

}  // namespace holdfast::data
