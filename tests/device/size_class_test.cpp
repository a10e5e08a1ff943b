// Size classes: nothing is rounded down, and little is rounded up.
#include "device/size_class.hpp"

#include <doctest/doctest.h>

#include <initializer_list>

using namespace holdfast::device;

TEST_CASE("a class holds every size that falls into it and wastes less than an eighth or 64 bytes") {
  for (std::size_t around = 64; around <= kLargestSize; around += around / 64 * 7 + 1)
    for (const std::size_t size : {around - 63, around - 1, around, around + 1}) {
      if (size > kLargestSize) continue;
      const std::size_t index = size_class(size);
      REQUIRE(index < kSizeClasses);
      const std::size_t held = class_bytes(index);
      REQUIRE(held >= size);
      REQUIRE(held % kGranule == 0);
      REQUIRE((held - size < 64 || 8 * (held - size) < size));
    }
}

TEST_CASE("classes are in order and each begins where the one before ends") {
  for (std::size_t index = 0; index < kSizeClasses; ++index) {
    REQUIRE(size_class(class_bytes(index)) == index);
    if (index + 1 < kSizeClasses) REQUIRE(size_class(class_bytes(index) + 1) == index + 1);
  }
  CHECK(class_bytes(kSizeClasses - 1) == kLargestSize);
  CHECK(class_bytes(size_class(std::size_t{1} << 20)) == std::size_t{1} << 20);  // powers of two are not rounded
}
