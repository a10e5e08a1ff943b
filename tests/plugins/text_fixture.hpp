// A folder with texts and token bins, and the text data set over them.
#pragma once

#include <string>
#include <vector>

#include "fixtures/components.hpp"
#include "idx_bytes.hpp"
#include "kept_batch.hpp"
#include "temp_folder.hpp"
#include "text/text.hpp"

namespace holdfast::test {

/// Tokens of `bytes` bytes each, little-endian.
inline std::string bin(const std::vector<std::uint64_t>& tokens, int bytes) {
  std::string text;
  for (const auto token : tokens)
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(token >> 8 * i & 0xff);
  return text;
}

/// "0123456789abc..." of the wanted length: neighbours differ, so that a shift by one shows.
inline std::string letters(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('0' + i % 75);
  return text;
}

struct TextFolder {
  TempFolder folder;
  Lender lender;

  [[nodiscard]] std::string operator/(std::string_view name) const { return folder / name; }
  std::string put(const std::string& name, const std::string& content) {
    write_text(folder / name, content);
    return folder / name;
  }
  Options files(std::vector<std::string> paths, std::int64_t context = 4) {
    Options options = defaults<plugins::Text>();
    options.set("files", std::move(paths));
    options.set("context", context);
    return options;
  }
  Options bins(const std::string& content, const std::string& dtype, std::int64_t vocabulary) {
    Options options = files({put("tokens.bin", content)});
    options.set("dtype", dtype);
    options.set("vocabulary", vocabulary);
    return options;
  }
  plugins::Text open(const Options& options) { return {options, lender.context("dataset.train")}; }
  /// The sentence of opening with these options, with the folder's name taken out.
  std::string fault(const Options& options) {
    return without_folder(told([&] { open(options); }));
  }
  std::string without_folder(std::string text) const {
    for (auto at = text.find(folder.path()); at != std::string::npos; at = text.find(folder.path()))
      text.replace(at, folder.path().size(), "DIR");
    return text;
  }
};

}  // namespace holdfast::test
