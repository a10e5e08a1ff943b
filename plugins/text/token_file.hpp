// A file of tokens: unsigned little-endian numbers of one width, one after the other, without a header. Torch-free;
// knows no windows and no training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "source/content.hpp"

namespace holdfast::plugins {

/// The value is the width in bytes.
enum class TokenType : std::uint8_t { kU8 = 1, kU16 = 2, kU32 = 4 };

const char* name_of(TokenType type);  ///< "u8", "u16", "u32"

/// Constant after construction: safe from any thread.
class TokenFile {
 public:
  /// Errors of Content; 65 when the size is no whole number of tokens.
  TokenFile(const std::string& path, TokenType type);

  [[nodiscard]] const std::string& path() const { return content_.path(); }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  /// out[i] = token number `first + i`, for i < count. The range lies inside the file. Error 74 when the file shrank.
  void copy(std::int64_t first, std::int64_t count, std::int64_t* out) const;
  /// Looks at every token of a range once, in pieces, and hands each piece's bytes on. Error 65 names the first token
  /// that is not below `vocabulary`, with its position; 74 when the file shrank. A mapped file does not stay in this
  /// process.
  void survey(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
              const std::function<void(std::span<const std::byte>)>& piece) const;

 private:
  [[nodiscard]] std::span<const std::byte> bytes(std::int64_t first, std::int64_t count) const;
  [[noreturn]] void refuse(std::int64_t position, std::int64_t token, std::int64_t vocabulary) const;

  Content content_;
  TokenType type_;
  std::int64_t tokens_ = 0;
};

}  // namespace holdfast::plugins
