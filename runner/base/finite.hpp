// Whether bytes that are numbers are finite numbers. Knows dtypes by their safetensors names.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace holdfast::base {

/// Reason of the Error 82 with which a state is refused that has a weight which is not finite.
inline constexpr std::string_view kNotFinite = "checkpoint.nonfinite";

/// The index of the first number that is infinite or NaN; nothing when all are finite, or when the
/// dtype has no such numbers. `bytes` need no alignment. Reads memory once, at its speed.
std::optional<std::size_t> first_not_finite(std::string_view dtype, std::span<const std::byte> bytes) noexcept;

}  // namespace holdfast::base
