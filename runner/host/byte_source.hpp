// Bytes at offsets, from a file or from memory: what the note reader reads, so that it can be fuzzed without files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace holdfast::host {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Fills `into` from `offset`; false when these bytes are not all there (past the end, or a file that shrank).
  /// I/O errors are thrown as Error 74.
  [[nodiscard]] virtual bool read(std::uint64_t offset, std::span<std::byte> into) const = 0;
};

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] bool read(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset > bytes_.size() || into.size() > bytes_.size() - offset) return false;
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace holdfast::host
