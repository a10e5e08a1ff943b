// Patterns and policies against the segments of a forward.
#include "engine/selection.hpp"

#include <doctest/doctest.h>

#include "fixtures/components.hpp"
#include "holdfast/error.hpp"

using namespace holdfast;
using engine::SegmentSize;
using engine::Selection;
using test::told;

namespace {

const std::deque<SegmentSize> kFour = {
    {"block.0", 10, true}, {"block.1", 30, true}, {"block.1.mlp", 99, false}, {"head", 30, true}};

/// What is chosen of kFour, before and after the first forward.
std::string chosen(std::vector<std::string> entries, bool learned = true) {
  Selection selection("strategy.x", "recompute", std::move(entries));
  if (learned) selection.learn(kFour);
  std::string text;
  std::int64_t place = 0;
  for (const auto& segment : kFour)
    if (selection.chooses(segment.name, segment.outermost ? place++ : -1)) text += segment.name + " ";
  return text;
}

}  // namespace

TEST_CASE("a star stands for any text, everything else for itself") {
  CHECK(chosen({"*"}) == "block.0 block.1 block.1.mlp head ");
  CHECK(chosen({"all"}) == chosen({"*"}));
  CHECK(chosen({"block.*"}) == "block.0 block.1 block.1.mlp ");
  CHECK(chosen({"*.1*"}) == "block.1 block.1.mlp ");
  CHECK(chosen({"b*k*0", "head"}) == "block.0 head ");
  CHECK(chosen({"head"}) == "head ");
  CHECK(chosen({"*.*.*"}) == "block.1.mlp ");
  CHECK(chosen({}).empty());
}

TEST_CASE("every:N takes the outermost segments 0, N, 2N") {
  CHECK(chosen({"every:1"}) == "block.0 block.1 head ");
  CHECK(chosen({"every:2"}) == "block.0 head ");
  CHECK(chosen({"every:3"}) == "block.0 ");
}

TEST_CASE("largest:N takes all outermost segments until their sizes are known, then the first of the largest") {
  CHECK(chosen({"largest:1"}, false) == "block.0 block.1 head ");
  CHECK(chosen({"largest:1"}) == "block.1 ");
  CHECK(chosen({"largest:2"}) == "block.1 head ");
  CHECK(chosen({"largest:9"}) == "block.0 block.1 head ");
}

TEST_CASE("an entry that is no policy, or that chooses nothing, is refused in words") {
  const std::string hint = "\n  hint: write all, every:N or largest:N with N at least 1, or a pattern such as block.*";
  for (const char* const bad : {"every:0", "every:-2", "every:", "largest:x", "largest:99999999999999999999", ""})
    CHECK(told([&] { Selection("strategy.x", "recompute", {bad}); }) ==
          "78 strategy.x: error[plan.segments]: '" + std::string(bad) + "' chooses no segments to recompute" + hint);
  CHECK(
      told([] { chosen({"block.*", "blok.*"}); }) ==
      "78 strategy.x: error[plan.segments]: 'blok.*' chooses no segment to recompute; those of the model are block.0, "
      "block.1, block.1.mlp, head\n  hint: name segments that the model has, or remove the table");
  CHECK(told([] { Selection("strategy.x", "offload", {"every:2"}).learn({}); }) ==
        "78 strategy.x: error[plan.segments]: 'every:2' chooses no segment to offload; the model's forward ran none\n"
        "  hint: name segments that the model has, or remove the table");
}
