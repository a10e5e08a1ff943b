// The dtype table.
#include "checkpoint/dtype.hpp"

#include <array>
#include <limits>
#include <utility>

namespace holdfast::checkpoint {

std::optional<std::uint64_t> dtype_size(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 10> kSizes = {{{"F64", 8},
                                                                                  {"F32", 4},
                                                                                  {"F16", 2},
                                                                                  {"BF16", 2},
                                                                                  {"I64", 8},
                                                                                  {"I32", 4},
                                                                                  {"I16", 2},
                                                                                  {"I8", 1},
                                                                                  {"U8", 1},
                                                                                  {"BOOL", 1}}};
  for (const auto& [name, size] : kSizes)
    if (name == dtype) return size;
  return std::nullopt;
}

std::string_view dtype_names() { return "F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL"; }

std::optional<std::uint64_t> tensor_bytes(std::span<const std::int64_t> shape, std::uint64_t element_size) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::uint64_t bytes = element_size;
  bool empty = false;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
    if (dimension == 0) {
      empty = true;
      continue;
    }
    // Checked with zeros left out: strides of such a tensor are computed from the other dimensions.
    if (bytes > kMost / static_cast<std::uint64_t>(dimension)) return std::nullopt;
    bytes *= static_cast<std::uint64_t>(dimension);
  }
  return empty ? 0 : bytes;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace holdfast::checkpoint
