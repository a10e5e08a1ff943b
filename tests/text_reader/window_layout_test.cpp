// The layout of windows against one that is counted out token by token. Torch-free.
#include "text/window_layout.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

namespace {

using namespace holdfast::plugins;

/// Every start of a window, found by looking at every token: the first of a run of the same file and part, then each
/// `stride` further on while the window fits.
std::vector<std::pair<std::size_t, std::int64_t>> counted_out(const std::vector<std::int64_t>& files,
                                                              const WindowRule& rule) {
  std::int64_t all = 0, row = 0;
  for (const auto tokens : files) all += tokens;
  const std::int64_t cut = all - std::llround(static_cast<double>(all) * rule.eval_share);
  const auto wanted = [&](std::int64_t at) {
    return rule.part == Part::kAll || (rule.part == Part::kEval) == (at >= cut);
  };
  std::vector<std::pair<std::size_t, std::int64_t>> starts;
  for (std::size_t file = 0; file < files.size(); ++file) {
    std::int64_t run = 0;
    for (std::int64_t at = 0; at < files[file]; ++at) {
      run = wanted(row + at) ? run + 1 : 0;
      if (run >= rule.length && (run - rule.length) % rule.stride == 0) starts.emplace_back(file, at - rule.length + 1);
    }
    row += files[file];
  }
  return starts;
}

}  // namespace

TEST_CASE("Windows of random files and rules are those counted out token by token") {
  std::mt19937 random(5);
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::int64_t> files(static_cast<std::size_t>(from(1, 4)));
    for (auto& tokens : files) tokens = from(1, 40);
    WindowRule rule;
    rule.length = from(2, 9);
    rule.stride = from(1, 12);
    rule.part = static_cast<Part>(from(0, 2));
    rule.eval_share = static_cast<double>(from(1, 99)) / 100;
    const WindowLayout layout(files, rule);
    const auto expected = counted_out(files, rule);
    REQUIRE(layout.windows() == static_cast<std::int64_t>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const TokenRange range = layout.at(static_cast<std::int64_t>(i));
      REQUIRE(range.file == expected[i].first);
      REQUIRE(range.first == expected[i].second);
    }
  }
}

TEST_CASE("The parts of any file add up to all of it") {
  for (const std::int64_t tokens : {1, 2, 9, 10, 11, 1'000'000'007}) {
    for (const double share : {0.001, 0.1, 1.0 / 3, 0.999}) {
      const auto part = [&](Part which) { return WindowLayout({tokens}, {2, 1, which, share}).part_tokens(); };
      CHECK(part(Part::kTrain) + part(Part::kEval) == tokens);
      CHECK(part(Part::kAll) == tokens);
    }
  }
}
