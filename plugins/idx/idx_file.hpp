// IDX files: a header of big-endian sizes, then values. Torch-free; knows nothing of images, labels or training.
// Format: Y. LeCun, C. Cortes, "The MNIST database", section "file format".
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace holdfast::plugins {

/// The third byte of the file.
enum class ElementType : std::uint8_t { kU8 = 0x08, kI8 = 0x09, kI16 = 0x0B, kI32 = 0x0C, kF32 = 0x0D, kF64 = 0x0E };

const char* name_of(ElementType type);  ///< "uint8", ..., as in NumPy
std::size_t bytes_of(ElementType type);

/// Several files of one type and sample shape, one after the other, in host byte order.
struct IdxArray {
  struct Part {
    std::string path;        ///< absolute
    std::int64_t first = 0;  ///< index of its first sample
  };
  ElementType type = ElementType::kU8;
  std::int64_t samples = 0;
  std::vector<std::int64_t> sample_shape;
  std::int64_t sample_values = 1;
  std::unique_ptr<std::byte[]> bytes;
  std::size_t byte_count = 0;
  std::vector<Part> parts;

  [[nodiscard]] const std::byte* sample(std::int64_t index) const {
    return bytes.get() + static_cast<std::size_t>(index) * sample_bytes();
  }
  [[nodiscard]] std::size_t sample_bytes() const { return static_cast<std::size_t>(sample_values) * bytes_of(type); }
  [[nodiscard]] const std::string& path_of(std::int64_t index) const;
};

/// Reads and checks all files completely; allocates only what the files can really hold.
/// Error 65 bad content, 66 missing or unreadable, 74 disk, 88 larger than this machine's memory.
IdxArray read_idx(const std::vector<std::string>& paths);

}  // namespace holdfast::plugins
