// The bytes of a whole file as one block: a plain file is mapped, a gzip file is unpacked into memory. Torch-free;
// knows no format of what the bytes mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace holdfast::plugins {

/// Constant after construction, save for the check that the file below a mapping is still there: safe from any thread.
class Content {
 public:
  /// Error 65 when the file is empty or its gzip data is bad, 66 when it is missing or unreadable, 74 when it cannot be
  /// mapped or the disk fails, 88 when the unpacked content is more than this machine's memory.
  explicit Content(const std::string& path);
  ~Content();
  Content(Content&&) noexcept;

  [[nodiscard]] const std::string& path() const;  ///< absolute
  [[nodiscard]] std::uint64_t size() const;       ///< in bytes, never zero
  /// Bytes [first, first + count), which must lie inside. Error 74 when the file has been shortened since it was
  /// opened: touching the mapping behind its end would be SIGBUS. A file that shrinks between this check and the use of
  /// the span still is; only a copy of the file could prevent that.
  [[nodiscard]] std::span<const std::byte> bytes(std::uint64_t first, std::uint64_t count) const;
  /// Lets the pages of a mapping go from this process; they stay in the system's cache and come back when they are
  /// used.
  void release(std::uint64_t first, std::uint64_t count) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::plugins
