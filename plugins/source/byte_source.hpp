// Bytes of a regular file, unpacked when they are gzip (RFC 1952, recognised by content, never by name). Torch-free;
// knows no format of what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace holdfast::plugins {

/// Reads once, front to back. Several gzip members after one another read as one, as RFC 1952 has it.
class ByteSource {
 public:
  /// Opens without ever blocking. Error 66 when the file is missing, unreadable or no regular file.
  explicit ByteSource(std::string path);
  ~ByteSource();
  ByteSource(ByteSource&&) noexcept;

  /// Fills `into`; returns fewer bytes only at the end. Error 65 when gzip data is damaged, cut short or followed by
  /// something else; 74 when the disk fails.
  std::size_t read(std::span<std::byte> into);

  [[nodiscard]] const std::string& path() const;  ///< absolute
  [[nodiscard]] bool packed() const;
  [[nodiscard]] std::uint64_t file_size() const;
  [[nodiscard]] int descriptor() const;  ///< open for reading as long as this object lives
  /// No more bytes than this can come out, whatever the content says: the file's size, or 1032 times it for gzip
  /// (deflate's largest ratio, zlib technical details).
  [[nodiscard]] std::uint64_t most_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::plugins
