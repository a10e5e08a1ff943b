// Spans are few (one a file), windows many: a window is found by binary search and one multiplication.
#include "text/window_layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace holdfast::plugins {

WindowLayout::WindowLayout(const std::vector<std::int64_t>& file_tokens, const WindowRule& rule) : rule_(rule) {
  const std::int64_t all = std::accumulate(file_tokens.begin(), file_tokens.end(), std::int64_t{0});
  const std::int64_t cut = all - std::llround(static_cast<double>(all) * rule.eval_share);
  const std::int64_t begin = rule.part == Part::kEval ? cut : 0;
  const std::int64_t end = rule.part == Part::kTrain ? cut : all;
  std::int64_t file_begin = 0;
  for (std::size_t file = 0; file < file_tokens.size(); ++file) {
    const std::int64_t file_end = file_begin + file_tokens[file];
    const std::int64_t from = std::max(begin, file_begin), to = std::min(end, file_end);
    if (from < to) add(file, from - file_begin, to - from);
    file_begin = file_end;
  }
}

void WindowLayout::add(std::size_t file, std::int64_t first, std::int64_t tokens) {
  part_tokens_ += tokens;
  if (tokens < rule_.length) return;
  spans_.push_back({file, first, tokens, windows_});
  windows_ += (tokens - rule_.length) / rule_.stride + 1;
}

TokenRange WindowLayout::at(std::int64_t index) const {
  const auto behind = std::upper_bound(spans_.begin(), spans_.end(), index,
                                       [](std::int64_t window, const TokenSpan& s) { return window < s.first_window; });
  const TokenSpan& span = *(behind - 1);
  return {span.file, span.first + (index - span.first_window) * rule_.stride};
}

}  // namespace holdfast::plugins
