// Header checks before any allocation, then one read into one block.
#include "idx_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "holdfast/error.hpp"
#include "source/byte_source.hpp"

namespace holdfast::plugins {
namespace {

struct Header {
  ElementType type{};
  std::vector<std::int64_t> shape;
  std::uint64_t payload_bytes = 0;
};

struct OpenFile {
  ByteSource source;
  Header header;
};

std::string times(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const auto size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text.empty() ? "1" : text;
}

[[noreturn]] void bad(const ByteSource& source, const char* reason, const std::string& what,
                      const std::string& hint = {}) {
  throw Error(ExitCode::kBadData, reason, source.path(), what, hint);
}

/// "'<!DOCTYPE ht'" or "bytes 89 50 4e 47".
std::string beginning(std::span<const std::byte> head) {
  std::string text, hex;
  bool printable = true;
  for (const std::byte byte : head) {
    const auto c = static_cast<unsigned char>(byte);
    printable = printable && c >= 0x20 && c < 0x7f;
    text += static_cast<char>(c);
    constexpr const char* kDigits = "0123456789abcdef";
    hex += std::string(" ") + kDigits[c >> 4] + kDigits[c & 15];
  }
  return printable ? "'" + text + "'" : "bytes" + hex;
}

ElementType element_type(const ByteSource& source, std::span<const std::byte> magic) {
  const auto code = static_cast<std::uint8_t>(magic[2]);
  const bool known = (code >= 0x08 && code <= 0x0E) && code != 0x0A;
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0} || !known)
    bad(source, "data.format",
        std::string(source.packed() ? "unpacks to something that is no IDX file" : "is neither an IDX file nor gzip") +
            ": it begins with " + beginning(magic),
        "fetch the file again; a download page saved under this name looks like this");
  return static_cast<ElementType>(code);
}

std::uint64_t payload_bytes(const ByteSource& source, const Header& header) {
  std::uint64_t bytes = bytes_of(header.type);
  for (const auto size : header.shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes))
      bad(source, "data.size", "its header declares " + times(header.shape) + " values, more than any file can hold");
  return bytes;
}

/// What the file cannot hold is refused here, before anything is allocated for it.
void check_size(const ByteSource& source, const Header& header) {
  const std::uint64_t header_bytes = 4 + 4 * header.shape.size();
  const std::string declares =
      "its header declares " + times(header.shape) + " values (" + std::to_string(header.payload_bytes) + " bytes), ";
  if (source.packed()) {
    if (header.payload_bytes > source.most_bytes())
      bad(source, "data.size",
          declares + "more than a gzip file of " + std::to_string(source.file_size()) + " bytes can hold");
    return;
  }
  const std::uint64_t follow = source.file_size() - std::min(source.file_size(), header_bytes);
  if (header.payload_bytes > follow)
    bad(source, "data.truncated", declares + "but only " + std::to_string(follow) + " bytes follow it",
        "fetch the file again");
  if (header.payload_bytes < follow)
    bad(source, "data.trailing", declares + "but " + std::to_string(follow) + " bytes follow it",
        "fetch the file again");
}

Header read_header(ByteSource& source) {
  std::array<std::byte, 4> magic{};
  const std::size_t got = source.read(magic);
  if (got == 0) bad(source, "data.empty", "is empty", "fetch the file again");
  if (got < magic.size())
    bad(source, "data.format", "is no IDX file: it holds " + std::to_string(got) + " bytes, fewer than a header");
  Header header;
  header.type = element_type(source, magic);
  std::vector<std::byte> sizes(4 * static_cast<std::size_t>(magic[3]));
  if (sizes.empty()) bad(source, "data.format", "is an IDX file of no dimensions, so it holds no samples");
  if (source.read(sizes) < sizes.size())
    bad(source, "data.truncated", "ends within its header", "fetch the file again");
  for (std::size_t at = 0; at < sizes.size(); at += 4) {
    std::uint32_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size = size << 8 | std::to_integer<std::uint32_t>(sizes[at + i]);
    header.shape.push_back(size);
  }
  if (std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end())
    bad(source, "data.empty", "holds no values: its header declares " + times(header.shape));
  header.payload_bytes = payload_bytes(source, header);
  check_size(source, header);
  return header;
}

void read_payload(OpenFile& file, std::span<std::byte> into) {
  const std::size_t got = file.source.read(into);
  const std::string declares = "its header declares " + times(file.header.shape) + " values (" +
                               std::to_string(file.header.payload_bytes) + " bytes), ";
  if (got < into.size())
    bad(file.source, "data.truncated", declares + "but only " + std::to_string(got) + " bytes follow it",
        "fetch the file again");
  std::array<std::byte, 1> more{};  // reading on also checks the gzip trailer
  if (file.source.read(more) > 0)
    bad(file.source, "data.trailing", declares + "but more bytes follow it", "fetch the file again");
}

void same_kind(const OpenFile& first, const OpenFile& other) {
  const auto tail = [](const Header& h) { return std::vector<std::int64_t>(h.shape.begin() + 1, h.shape.end()); };
  if (first.header.type == other.header.type && tail(first.header) == tail(other.header)) return;
  bad(other.source, "data.mismatch",
      std::string("holds samples of ") + times(tail(other.header)) + " " + name_of(other.header.type) + ", but " +
          first.source.path() + " holds samples of " + times(tail(first.header)) + " " + name_of(first.header.type));
}

void fits_memory(const ByteSource& first, std::uint64_t bytes) {
  const auto memory =
      static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  if (bytes <= memory) return;
  throw Error(ExitCode::kHostOutOfMemory, "data.memory", first.path(),
              "needs " + std::to_string(bytes >> 20) + " MiB, but this machine has " + std::to_string(memory >> 20) +
                  " MiB of memory",
              "idx keeps the whole data set in memory");
}

template <class Word>
void swap_words(std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if constexpr (sizeof(Word) == 2) word = __builtin_bswap16(word);
    if constexpr (sizeof(Word) == 4) word = __builtin_bswap32(word);
    if constexpr (sizeof(Word) == 8) word = __builtin_bswap64(word);
    std::memcpy(bytes.data() + at, &word, sizeof word);
  }
}

void to_host_order(ElementType type, std::span<std::byte> bytes) {
  if constexpr (std::endian::native == std::endian::big) return;
  if (bytes_of(type) == 2) swap_words<std::uint16_t>(bytes);
  if (bytes_of(type) == 4) swap_words<std::uint32_t>(bytes);
  if (bytes_of(type) == 8) swap_words<std::uint64_t>(bytes);
}

}  // namespace

const char* name_of(ElementType type) {
  switch (type) {
    case ElementType::kU8:
      return "uint8";
    case ElementType::kI8:
      return "int8";
    case ElementType::kI16:
      return "int16";
    case ElementType::kI32:
      return "int32";
    case ElementType::kF32:
      return "float32";
    case ElementType::kF64:
      break;
  }
  return "float64";
}

std::size_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::kU8:
    case ElementType::kI8:
      return 1;
    case ElementType::kI16:
      return 2;
    case ElementType::kI32:
    case ElementType::kF32:
      return 4;
    case ElementType::kF64:
      break;
  }
  return 8;
}

const std::string& IdxArray::path_of(std::int64_t index) const {
  auto part = parts.begin();
  while (part + 1 != parts.end() && (part + 1)->first <= index) ++part;
  return part->path;
}

IdxArray read_idx(const std::vector<std::string>& paths) {
  std::vector<OpenFile> files;
  IdxArray array;
  for (const auto& path : paths) {
    ByteSource source(path);
    Header header = read_header(source);
    files.push_back({std::move(source), std::move(header)});
    same_kind(files.front(), files.back());
    array.parts.push_back({files.back().source.path(), array.samples});
    array.samples += files.back().header.shape[0];
    array.byte_count += files.back().header.payload_bytes;
  }
  const Header& first = files.front().header;
  fits_memory(files.front().source, array.byte_count);
  array.type = first.type;
  array.sample_shape.assign(first.shape.begin() + 1, first.shape.end());
  for (const auto size : array.sample_shape) array.sample_values *= size;
  array.bytes = std::make_unique_for_overwrite<std::byte[]>(array.byte_count);
  std::size_t at = 0;
  for (auto& file : files) {
    read_payload(file, {array.bytes.get() + at, file.header.payload_bytes});
    at += file.header.payload_bytes;
  }
  to_host_order(array.type, {array.bytes.get(), array.byte_count});
  return array;
}

}  // namespace holdfast::plugins
