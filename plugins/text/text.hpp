// The data set "text": windows of tokens from text files or token bins, each beside the same window one token further
// on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/dataset.hpp"
#include "text/token_file.hpp"
#include "text/window_layout.hpp"

namespace holdfast::plugins {

/// Fields "input" and "target": int64 [context], target[i] is the token that follows input[i].
/// The constructor opens every file and looks at every token of its part once, for the fingerprint (which needs all of
/// them) and, at the same price, for the range: a bad token is found by `validate`, never in the middle of a run.
/// read() fails only when a file shrank since (Error 74); it is safe from any number of threads.
class Text : public Dataset {
 public:
  static void declare(OptionTable& options);
  Text(const Options& options, const Context& context);

  [[nodiscard]] std::int64_t size() const override { return layout_->windows(); }
  [[nodiscard]] Fingerprint fingerprint() const override { return fingerprint_; }
  [[nodiscard]] DataFacts facts() const override;
  void read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng& rng) const override;

 private:
  void open_files(const std::vector<std::string>& paths, TokenType type);
  void lay_windows(const Options& options, const Context& context);
  [[nodiscard]] std::string survey(TokenType type, std::int64_t stride) const;

  std::int64_t context_ = 0, vocabulary_ = 0;
  std::vector<TokenFile> files_;
  std::optional<WindowLayout> layout_;
  std::string fingerprint_;
};

}  // namespace holdfast::plugins
