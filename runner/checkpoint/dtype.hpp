// The element types of safetensors that holdfast stores, and sizes without overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::checkpoint {

/// Bytes of one element; none for a name that is not among F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL.
std::optional<std::uint64_t> dtype_size(std::string_view dtype);
/// "F64 F32 F16 ...", for messages.
std::string_view dtype_names();
/// Bytes of a dense tensor; none when a dimension is negative or the product of the dimensions (zeros left out) times
/// the element size exceeds 2^63 - 1.
std::optional<std::uint64_t> tensor_bytes(std::span<const std::int64_t> shape, std::uint64_t element_size);
/// "[2, 3]", "[]" for a scalar.
std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace holdfast::checkpoint
