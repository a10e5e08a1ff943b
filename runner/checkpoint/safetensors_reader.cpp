// Reading safetensors whole into one aligned block. read(2), not mmap: a mapped file that is cut kills by SIGBUS.
#include <cstdlib>
#include <cstring>

#include "base/io_error.hpp"
#include "base/text.hpp"
#include "checkpoint/digest.hpp"
#include "checkpoint/safetensors.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {
namespace {

constexpr std::size_t kAlignment = 64;

std::shared_ptr<std::byte> allocate(std::uint64_t size, const std::string& where) {
  const std::uint64_t rounded = (size / kAlignment + 1) * kAlignment;
  void* block = std::aligned_alloc(kAlignment, rounded);
  if (block == nullptr)
    throw Error(ExitCode::kHostOutOfMemory, "checkpoint.memory", where,
                "reading it needs " + base::human_bytes(static_cast<std::int64_t>(size)) +
                    " of memory, which the system refused",
                "free memory or raise the limit, then run again");
  return {static_cast<std::byte*>(block), [](std::byte* bytes) { std::free(bytes); }};
}

[[noreturn]] void refuse(const std::string& where, const std::string& what) {
  throw Error(ExitCode::kMissingInput, "safetensors.length", where, what,
              "the file is damaged or not a safetensors file: restore it from a copy");
}

std::uint64_t header_length(const base::Folder& folder, const base::OpenFile& opened, const std::string& where,
                            Hasher& hasher) {
  std::uint64_t length = 0;
  if (opened.size < sizeof length)
    refuse(where, "the file has " + std::to_string(opened.size) + " bytes, a safetensors file at least 10");
  base::read_exactly(folder.system(), opened.file, where, std::as_writable_bytes(std::span(&length, 1)));
  hasher.add(std::as_bytes(std::span(&length, 1)));
  if (length < 2) refuse(where, "the header is " + std::to_string(length) + " bytes long, at least 2 are needed");
  if (length > kLargestHeader)
    refuse(where, "the header is " + std::to_string(length) + " bytes long, at most " + std::to_string(kLargestHeader) +
                      " are allowed");
  if (length > opened.size - sizeof length)
    refuse(where, "the header is " + std::to_string(length) + " bytes long, but only " +
                      std::to_string(opened.size - sizeof length) + " bytes follow");
  return length;
}

}  // namespace

TensorFile read_tensor_file(const base::Folder& folder, const std::string& name) {
  const std::string where = folder.path_of(name);
  const base::OpenFile opened = folder.open_file(name);
  Hasher hasher;
  const std::uint64_t length = header_length(folder, opened, where, hasher);
  std::string header(length, '\0');
  base::read_exactly(folder.system(), opened.file, where, std::as_writable_bytes(std::span(header)));
  hasher.add(header);
  const std::uint64_t data_size = opened.size - sizeof length - length;
  auto described = parse_header(header, data_size, where);

  TensorFile result;
  result.storage = allocate(data_size, where);
  const std::span<std::byte> data(result.storage.get(), data_size);
  base::read_exactly(folder.system(), opened.file, where, data);
  hasher.add(data);
  result.written = {opened.size, hasher.hex()};
  result.tensors.reserve(described.size());
  for (HeaderTensor& tensor : described)
    result.tensors.push_back({std::move(tensor.name), std::move(tensor.dtype), std::move(tensor.shape),
                              data.subspan(tensor.begin, tensor.end - tensor.begin)});
  return result;
}

}  // namespace holdfast::checkpoint
