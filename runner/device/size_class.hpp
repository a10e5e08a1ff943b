// The sizes in which a pool keeps blocks: steps of 64 bytes up to 512, then eight steps to each doubling, so that
// rounding up adds less than an eighth (or 63 bytes).
#pragma once

#include <bit>
#include <cstddef>

namespace holdfast::device {

inline constexpr std::size_t kGranule = 64;                        ///< alignment that LibTorch wants of CPU memory
inline constexpr std::size_t kLargestSize = std::size_t{1} << 47;  ///< no address space holds more
inline constexpr std::size_t kSizeClasses = 8 + (47 - 9) * 8;

/// `bytes` from 1 to kLargestSize.
constexpr std::size_t size_class(std::size_t bytes) {
  const std::size_t last = bytes - 1;
  if (last < 512) return last / kGranule;
  const std::size_t power = static_cast<std::size_t>(std::bit_width(last)) - 1;
  return 8 + (power - 9) * 8 + ((last >> (power - 3)) & 7);
}

/// The largest size in a class: what its blocks hold.
constexpr std::size_t class_bytes(std::size_t index) {
  if (index < 8) return (index + 1) * kGranule;
  const std::size_t power = 9 + (index - 8) / 8;
  return ((8 + (index - 8) % 8) + 1) << (power - 3);
}

}  // namespace holdfast::device
