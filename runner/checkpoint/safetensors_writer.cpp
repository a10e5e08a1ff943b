// Writing safetensors: the header from known sizes, then the bytes as they lie in memory.
#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "base/text.hpp"
#include "checkpoint/digest.hpp"
#include "checkpoint/dtype.hpp"
#include "checkpoint/safetensors.hpp"
#include "holdfast/error.hpp"

static_assert(std::endian::native == std::endian::little,
              "safetensors is little-endian; bytes are written as they lie");

namespace holdfast::checkpoint {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;

/// Gathers small pieces, hashes on the way, syncs at the end.
class HashedFile {
 public:
  HashedFile(const base::Folder& folder, const std::string& name)
      : folder_(folder), path_(folder.path_of(name)), file_(folder.create_file(name, 0644)) {
    buffer_.reserve(kBuffer);
  }
  void append(std::span<const std::byte> bytes) {
    hasher_.add(bytes);
    size_ += bytes.size();
    if (buffer_.size() + bytes.size() > kBuffer) flush();
    if (bytes.size() >= kBuffer) {
      base::write_all(folder_.system(), file_, path_, bytes);
    } else {
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    }
  }
  WrittenFile finish() {
    flush();
    base::sync_file(folder_.system(), file_, path_);
    return {size_, hasher_.hex()};
  }

 private:
  void flush() {
    base::write_all(folder_.system(), file_, path_, buffer_);
    buffer_.clear();
  }
  const base::Folder& folder_;
  std::string path_;
  base::File file_;
  Hasher hasher_;
  std::uint64_t size_ = 0;
  std::vector<std::byte> buffer_;
};

[[noreturn]] void bug(const base::TensorView& tensor, const std::string& what) {
  throw Error(ExitCode::kBug, "checkpoint.tensor", "", "tensor " + base::json_string(tensor.name) + ": " + what);
}

void check(const base::TensorView& tensor) {
  const auto element = dtype_size(tensor.dtype);
  if (!element) bug(tensor, "dtype '" + tensor.dtype + "' is not among " + std::string(dtype_names()));
  const auto bytes = tensor_bytes(tensor.shape, *element);
  if (!bytes || *bytes != tensor.size())
    bug(tensor, tensor.dtype + " of shape " + shape_text(tensor.shape) + " does not take the " +
                    std::to_string(tensor.size()) + " bytes given");
  if (tensor.shape.size() > kHighestRank) bug(tensor, "more than " + std::to_string(kHighestRank) + " dimensions");
  if (tensor.name == "__metadata__") bug(tensor, "the format reserves this name");
  if (base::valid_utf8(tensor.name) != tensor.name) bug(tensor, "its name is not UTF-8");
}

}  // namespace

std::string compose_header(const std::vector<base::TensorView>& tensors, std::vector<const base::TensorView*>& order) {
  std::set<std::string_view> names;
  order.clear();
  for (const auto& tensor : tensors) {
    check(tensor);
    if (!names.insert(tensor.name).second) bug(tensor, "the name stands twice in one file");
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    const auto left = *dtype_size(a->dtype), right = *dtype_size(b->dtype);
    return left != right ? left > right : a->name < b->name;
  });
  // "format" is what other libraries look for before they take the tensors for PyTorch's.
  std::string header = R"({"__metadata__":{"format":"pt"})";
  std::uint64_t at = 0;
  for (const auto* tensor : order) {
    header += "," + base::json_string(tensor->name) + ":{\"dtype\":\"" + tensor->dtype + "\",\"shape\":[";
    for (std::size_t i = 0; i < tensor->shape.size(); ++i)
      header += (i == 0 ? "" : ",") + std::to_string(tensor->shape[i]);
    header += "],\"data_offsets\":[" + std::to_string(at) + ",";
    header += std::to_string(at += tensor->size()) + "]}";
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  if (header.size() > kLargestHeader)
    throw Error(ExitCode::kBug, "checkpoint.tensor", "",
                std::to_string(tensors.size()) + " tensors need a header of " + std::to_string(header.size()) +
                    " bytes; the format allows " + std::to_string(kLargestHeader));
  const std::uint64_t length = header.size();
  std::string all(sizeof length, '\0');
  std::memcpy(all.data(), &length, sizeof length);
  return all + header;
}

WrittenFile write_tensor_file(const base::Folder& folder, const std::string& name,
                              const std::vector<base::TensorView>& tensors) {
  std::vector<const base::TensorView*> order;
  const std::string header = compose_header(tensors, order);
  HashedFile file(folder, name);
  file.append(std::as_bytes(std::span(header)));
  for (const auto* tensor : order) file.append(tensor->read());
  return file.finish();
}

}  // namespace holdfast::checkpoint
