// Which tokens of which files make a sample: windows of equal length, cut from one part of the tokens. Pure arithmetic;
// knows no files and no tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace holdfast::plugins {

enum class Part { kAll, kTrain, kEval };

struct WindowRule {
  std::int64_t length = 2;  ///< tokens of a window
  std::int64_t stride = 1;  ///< from the start of a window to the start of the next
  Part part = Part::kAll;
  double eval_share = 0.1;  ///< the last share of all tokens is Part::kEval
};

/// Tokens [first, first + tokens) of one file, all of the same part.
struct TokenSpan {
  std::size_t file = 0;
  std::int64_t first = 0, tokens = 0;
  std::int64_t first_window = 0;  ///< number of the windows before this span
};

struct TokenRange {
  std::size_t file = 0;
  std::int64_t first = 0;
};

/// Files stand one after the other, and the split between train and eval is one cut in that row: the parts share no
/// token. A window lies in one span, so it crosses neither the end of a file nor the cut; what is left of a span behind
/// its last whole window belongs to no window.
class WindowLayout {
 public:
  WindowLayout(const std::vector<std::int64_t>& file_tokens, const WindowRule& rule);

  [[nodiscard]] std::int64_t windows() const { return windows_; }
  [[nodiscard]] std::int64_t part_tokens() const { return part_tokens_; }       ///< of the part, in windows or not
  [[nodiscard]] const std::vector<TokenSpan>& spans() const { return spans_; }  ///< those with a window, in order
  /// Where window number `index` begins; 0 <= index < windows().
  [[nodiscard]] TokenRange at(std::int64_t index) const;

 private:
  void add(std::size_t file, std::int64_t first, std::int64_t tokens);

  WindowRule rule_;
  std::vector<TokenSpan> spans_;
  std::int64_t windows_ = 0, part_tokens_ = 0;
};

}  // namespace holdfast::plugins
