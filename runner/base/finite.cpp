// IEEE 754: infinities and NaN are the numbers whose exponent is all ones.
#include "base/finite.hpp"

#include <cstdint>
#include <cstring>

namespace holdfast::base {
namespace {

template <class Word>
Word word_at(std::span<const std::byte> bytes, std::size_t index) noexcept {
  Word word;
  std::memcpy(&word, bytes.data() + index * sizeof(Word), sizeof(Word));
  return word;
}

/// Blocks of a fixed length without a way out of the inner loop: this is what compilers make vectors of.
template <class Word>
std::optional<std::size_t> search(std::span<const std::byte> bytes, Word exponent) noexcept {
  constexpr std::size_t kBlock = 2048;
  const std::size_t count = bytes.size() / sizeof(Word);
  std::size_t first = 0;
  for (; first + kBlock <= count; first += kBlock) {
    Word found = 0;
    for (std::size_t i = 0; i < kBlock; ++i)
      found = static_cast<Word>(found | ((word_at<Word>(bytes, first + i) & exponent) == exponent ? 1 : 0));
    if (found != 0) break;
  }
  for (; first < count; ++first)
    if ((word_at<Word>(bytes, first) & exponent) == exponent) return first;
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> first_not_finite(std::string_view dtype, std::span<const std::byte> bytes) noexcept {
  if (dtype == "F32") return search<std::uint32_t>(bytes, 0x7F800000U);
  if (dtype == "F64") return search<std::uint64_t>(bytes, 0x7FF0000000000000U);
  if (dtype == "BF16") return search<std::uint16_t>(bytes, 0x7F80U);
  if (dtype == "F16") return search<std::uint16_t>(bytes, 0x7C00U);
  return std::nullopt;
}

}  // namespace holdfast::base
