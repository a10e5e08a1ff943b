// IDX and gzip files made byte by byte, for tests of the idx data set.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::test {

/// A big-endian word of `bytes` bytes.
inline std::string big_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
  return text;
}

inline std::string idx_header(std::uint8_t type, const std::vector<std::uint32_t>& shape) {
  std::string text = {'\0', '\0', static_cast<char>(type), static_cast<char>(shape.size())};
  for (const auto size : shape) text += big_endian(size, 4);
  return text;
}

/// `count` bytes 0, 1, 2, ... of type uint8.
inline std::string idx_u8(const std::vector<std::uint32_t>& shape) {
  std::uint32_t count = 1;
  for (const auto size : shape) count *= size;
  std::string text = idx_header(0x08, shape);
  for (std::uint32_t i = 0; i < count; ++i) text += static_cast<char>(i * 7 % 251);
  return text;
}

inline std::string idx_labels(const std::vector<std::uint8_t>& labels) {
  std::string text = idx_header(0x08, {static_cast<std::uint32_t>(labels.size())});
  for (const auto label : labels) text += static_cast<char>(label);
  return text;
}

/// One gzip member.
inline std::string gzip(const std::string& content) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string packed(deflateBound(&stream, content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));  // NOLINT: zlib's interface
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace holdfast::test
