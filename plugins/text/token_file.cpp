// One loop a width; the width is chosen once a range, so the loops are plain and the compiler makes vector code of
// them.
#include "text/token_file.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "holdfast/error.hpp"

namespace holdfast::plugins {
namespace {

constexpr std::int64_t kPieceTokens = std::int64_t{1} << 20;

/// The number stored in little-endian order, whatever the machine's.
template <class Word>
Word stored(Word word) {
  if constexpr (std::endian::native == std::endian::little || sizeof(Word) == 1) return word;
  if constexpr (sizeof(Word) == 2) return static_cast<Word>(__builtin_bswap16(word));
  return static_cast<Word>(__builtin_bswap32(word));
}

/// Calls fn with the bytes as words of the type. Tokens are aligned: mappings and blocks are, and no header precedes
/// them.
template <class F>
auto typed(TokenType type, std::span<const std::byte> bytes, F&& fn) {
  if (type == TokenType::kU8) return fn(reinterpret_cast<const std::uint8_t*>(bytes.data()));
  if (type == TokenType::kU16) return fn(reinterpret_cast<const std::uint16_t*>(bytes.data()));
  return fn(reinterpret_cast<const std::uint32_t*>(bytes.data()));
}

template <class Word>
std::int64_t largest(const Word* words, std::int64_t count) {
  Word most = 0;
  for (std::int64_t i = 0; i < count; ++i) most = std::max(most, stored(words[i]));
  return most;
}

}  // namespace

const char* name_of(TokenType type) {
  if (type == TokenType::kU8) return "u8";
  return type == TokenType::kU16 ? "u16" : "u32";
}

TokenFile::TokenFile(const std::string& path, TokenType type) : content_(path), type_(type) {
  const auto width = static_cast<std::uint64_t>(type);
  if (content_.size() % width != 0)
    throw Error(ExitCode::kBadData, "data.size", content_.path(),
                "holds " + std::to_string(content_.size()) + " bytes, no whole number of " + name_of(type) +
                    " tokens of " + std::to_string(width) + " bytes",
                "check `dtype`; a file that was cut short looks like this too");
  tokens_ = static_cast<std::int64_t>(content_.size() / width);
}

std::span<const std::byte> TokenFile::bytes(std::int64_t first, std::int64_t count) const {
  const auto width = static_cast<std::uint64_t>(type_);
  return content_.bytes(static_cast<std::uint64_t>(first) * width, static_cast<std::uint64_t>(count) * width);
}

void TokenFile::copy(std::int64_t first, std::int64_t count, std::int64_t* out) const {
  typed(type_, bytes(first, count), [&](const auto* words) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<std::int64_t>(stored(words[i]));
  });
}

void TokenFile::survey(std::int64_t first, std::int64_t count, std::int64_t vocabulary,
                       const std::function<void(std::span<const std::byte>)>& piece) const {
  const auto width = static_cast<std::uint64_t>(type_);
  for (std::int64_t at = first; at < first + count; at += kPieceTokens) {
    const std::int64_t length = std::min(kPieceTokens, first + count - at);
    const auto block = bytes(at, length);
    typed(type_, block, [&](const auto* words) {
      if (largest(words, length) < vocabulary) return;
      const auto bad = std::find_if(words, words + length, [&](auto word) { return stored(word) >= vocabulary; });
      refuse(at + (bad - words), stored(*bad), vocabulary);
    });
    piece(block);
    content_.release(static_cast<std::uint64_t>(at) * width, block.size());
  }
}

void TokenFile::refuse(std::int64_t position, std::int64_t token, std::int64_t vocabulary) const {
  throw Error(ExitCode::kBadData, "data.token_range", content_.path(),
              "token " + std::to_string(token) + " at position " + std::to_string(position) + " lies outside 0.." +
                  std::to_string(vocabulary - 1) + ", the range of `vocabulary` = " + std::to_string(vocabulary),
              "check `dtype`, and set `vocabulary` to the number of tokens that the tokenizer knows");
}

}  // namespace holdfast::plugins
