// Token files: copies and surveys of random ranges, plain and gzip, whatever the bytes; damaged gzip says a sentence.
#include "text/token_file.hpp"

#include <doctest/doctest.h>

#include <random>
#include <thread>
#include <vector>

#include "holdfast/error.hpp"
#include "plugins/idx_bytes.hpp"
#include "temp_folder.hpp"

namespace {

using namespace holdfast::plugins;
using namespace holdfast::test;

std::string random_bytes(std::size_t count, std::mt19937& random) {
  std::string text(count, '\0');
  for (auto& byte : text) byte = static_cast<char>(std::uniform_int_distribution<int>(0, 255)(random));
  return text;
}

std::int64_t token_at(const std::string& content, std::int64_t index, TokenType type) {
  std::int64_t token = 0;
  for (int i = static_cast<int>(type) - 1; i >= 0; --i)
    token =
        token << 8 | static_cast<unsigned char>(content[static_cast<std::size_t>(index * static_cast<int>(type) + i)]);
  return token;
}

void check_ranges(const TokenFile& file, const std::string& content, TokenType type, std::mt19937& random) {
  for (int round = 0; round < 50; ++round) {
    const auto first = std::uniform_int_distribution<std::int64_t>(0, file.tokens())(random);
    const auto count = std::uniform_int_distribution<std::int64_t>(0, file.tokens() - first)(random);
    std::vector<std::int64_t> out(static_cast<std::size_t>(count));
    file.copy(first, count, out.data());
    for (std::int64_t i = 0; i < count; ++i)
      REQUIRE(out[static_cast<std::size_t>(i)] == token_at(content, first + i, type));
    std::string seen;
    file.survey(first, count, std::int64_t{1} << 32, [&](std::span<const std::byte> piece) {
      seen.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    const auto width = static_cast<std::size_t>(type);
    REQUIRE(seen == content.substr(static_cast<std::size_t>(first) * width, static_cast<std::size_t>(count) * width));
  }
}

}  // namespace

TEST_CASE("Any range of any width is copied and surveyed as it lies in the file, plain or gzip") {
  const TempFolder folder;
  std::mt19937 random(7);
  for (const TokenType type : {TokenType::kU8, TokenType::kU16, TokenType::kU32}) {
    CAPTURE(name_of(type));
    const std::string content = random_bytes(4 * 3000, random);
    write_text(folder / "plain", content);
    write_text(folder / "packed", gzip(content));
    check_ranges(TokenFile(folder / "plain", type), content, type, random);
    check_ranges(TokenFile(folder / "packed", type), content, type, random);
  }
}

TEST_CASE("Several threads copy from one file as one does") {
  const TempFolder folder;
  std::mt19937 random(3);
  const std::string content = random_bytes(20'000, random);
  write_text(folder / "file", content);
  const TokenFile file(folder / "file", TokenType::kU16);
  std::vector<int> wrong(3, -1);
  {
    std::vector<std::jthread> threads;
    for (auto& count : wrong)
      threads.emplace_back([&] {
        count = 0;
        std::vector<std::int64_t> out(100);
        for (std::int64_t first = 0; first + 100 <= file.tokens(); first += 50) {
          file.copy(first, 100, out.data());
          for (std::int64_t i = 0; i < 100; ++i)
            count += out[static_cast<std::size_t>(i)] != token_at(content, first + i, TokenType::kU16) ? 1 : 0;
        }
      });
  }
  CHECK(wrong == std::vector<int>(3, 0));
}

TEST_CASE("A damaged gzip file is read or refused with a sentence, whatever the damage") {
  const TempFolder folder;
  std::mt19937 random(11);
  const std::string good = gzip(random_bytes(600, random));
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bad = good;
    const auto below = [&](std::size_t bound) {
      return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
    };
    bad[below(bad.size())] = static_cast<char>(below(256));
    if (below(3) == 0) bad.resize(2 + below(bad.size() - 2));
    write_text(folder / "file", bad);
    try {
      const TokenFile file(folder / "file", TokenType::kU16);
      std::vector<std::int64_t> out(static_cast<std::size_t>(file.tokens()));
      file.copy(0, file.tokens(), out.data());
    } catch (const holdfast::Error& error) {
      CHECK(error.where() == folder / "file");
      CHECK(error.code() == holdfast::ExitCode::kBadData);
      ++refused;
    }
  }
  CHECK(refused > 200);
}
