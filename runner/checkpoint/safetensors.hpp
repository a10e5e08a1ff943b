// The safetensors format (github.com/huggingface/safetensors): 8 bytes of little-endian header length, a JSON header,
// then the bytes of the tensors without a gap. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/folder.hpp"
#include "base/state_view.hpp"

namespace holdfast::checkpoint {

inline constexpr std::uint64_t kLargestHeader = 100'000'000;  ///< bytes, as the format's own library
inline constexpr std::size_t kHighestRank = 64;               ///< dimensions; LibTorch iterates over no more

struct HeaderTensor {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< within the data section
};

/// Checks and reads a header. Every tensor: known dtype, dtype x shape = bytes, a name only once; together they cover
/// [0, data_size) in order of `begin` without gap or overlap. Error 66 at `where` otherwise. Memory used is a small
/// multiple of the header.
std::vector<HeaderTensor> parse_header(std::string_view header, std::uint64_t data_size, const std::string& where);
/// Length and header for these tensors, padded with spaces to a multiple of 8; `order` gets the order in which their
/// bytes follow: larger elements first, then by name, so that every tensor is aligned. Error 70 for a wrong size, an
/// unknown dtype or a name that stands twice.
std::string compose_header(const std::vector<base::TensorView>& tensors, std::vector<const base::TensorView*>& order);

struct WrittenFile {
  std::uint64_t size = 0;
  std::string hash;
};
struct TensorFile {
  std::vector<base::TensorView> tensors;  ///< in order of their bytes; they point into `storage`
  std::shared_ptr<std::byte> storage;     ///< the data section, aligned to 64 bytes
  WrittenFile written;
};

/// Makes `name` (which must not exist) and syncs it to disk.
WrittenFile write_tensor_file(const base::Folder& folder, const std::string& name,
                              const std::vector<base::TensorView>& tensors);
/// Reads `name` whole. Lengths are checked against the size of the file before anything is allocated.
TensorFile read_tensor_file(const base::Folder& folder, const std::string& name);

}  // namespace holdfast::checkpoint
