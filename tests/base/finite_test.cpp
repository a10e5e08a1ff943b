// Numbers that are not finite, found in bytes.
#include "base/finite.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

using namespace holdfast::base;

namespace {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

TEST_CASE("an infinity or NaN is found wherever it stands, in blocks and after them") {
  for (const std::size_t size : {1U, 7U, 2047U, 2048U, 2049U, 5000U})
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1})
      for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::signaling_NaN()}) {
        std::vector<float> values(size, std::numeric_limits<float>::max());
        CHECK_FALSE(first_not_finite("F32", bytes_of(values)));
        values[at] = bad;
        CHECK(first_not_finite("F32", bytes_of(values)) == at);
      }
}

TEST_CASE("each floating dtype is read by its own exponent; subnormal and negative numbers are finite") {
  std::vector<double> doubles = {-0.0, 5e-324, -1.7976931348623157e308};
  CHECK_FALSE(first_not_finite("F64", bytes_of(doubles)));
  doubles.push_back(std::numeric_limits<double>::quiet_NaN());
  CHECK(first_not_finite("F64", bytes_of(doubles)) == 3);
  std::vector<std::uint16_t> halves = {0x7BFF, 0xFBFF, 0x0001, 0x8000};  // 65504, -65504, subnormal, -0
  CHECK_FALSE(first_not_finite("F16", bytes_of(halves)));
  halves.push_back(0xFC00);
  CHECK(first_not_finite("F16", bytes_of(halves)) == 4);
  std::vector<std::uint16_t> brains = {0x7F7F, 0xFF7F, 0x7C00, 0x0001};
  CHECK_FALSE(first_not_finite("BF16", bytes_of(brains)));
  brains.push_back(0x7FC0);
  CHECK(first_not_finite("BF16", bytes_of(brains)) == 4);
}

TEST_CASE("whole numbers are finite, and bytes need no alignment") {
  const std::vector<std::int64_t> whole(10, -1);
  CHECK_FALSE(first_not_finite("I64", bytes_of(whole)));
  CHECK_FALSE(first_not_finite("BOOL", bytes_of(whole)));
  CHECK_FALSE(first_not_finite("F32", {}));
  std::vector<float> values(4000, 1.0F);
  values[3000] = std::numeric_limits<float>::infinity();
  std::vector<std::byte> shifted(1);
  shifted.insert(shifted.end(), bytes_of(values).begin(), bytes_of(values).end());
  CHECK(first_not_finite("F32", std::span(shifted).subspan(1)) == 3000);
}
