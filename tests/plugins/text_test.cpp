// The text data set on good files: windows, shift by one, widths, parts, several files, gzip, fingerprint, threads.
#include <doctest/doctest.h>

#include <set>
#include <thread>

#include "text_fixture.hpp"

using namespace holdfast::test;
using holdfast::Options;
using holdfast::plugins::Text;

namespace {

std::string text_of(const at::Tensor& row) {
  std::string text;
  for (std::int64_t i = 0; i < row.numel(); ++i) text += static_cast<char>(row[i].item<std::int64_t>());
  return text;
}

std::string window(const Text& data, std::int64_t index) {
  auto batch = read(data, {index});
  return text_of(batch.fields["input"][0]) + "|" + text_of(batch.fields["target"][0]);
}

std::string all_windows(const Text& data) {
  std::string text;
  for (std::int64_t i = 0; i < data.size(); ++i) text += (i ? " " : "") + window(data, i);
  return text;
}

}  // namespace

TEST_CASE(
    "Windows follow each other by the context; the target is the input one token further on; a rest is left out") {
  TextFolder folder;
  const auto data = folder.open(folder.files({folder.put("text", "abcdefghijkl")}));
  CHECK(all_windows(data) == "abcd|bcde efgh|fghi");  // a third window would need a 13th byte
  CHECK(all_windows(folder.open(folder.files({folder.put("text", "abcdefghijklm")}))) ==
        "abcd|bcde efgh|fghi ijkl|jklm");
}

TEST_CASE("The stride sets the distance of windows: overlapping below the context, with gaps above") {
  TextFolder folder;
  Options options = folder.files({folder.put("text", "abcdefghijkl")});
  options.set("stride", std::int64_t{3});
  CHECK(all_windows(folder.open(options)) == "abcd|bcde defg|efgh ghij|hijk");
  options.set("stride", std::int64_t{7});
  CHECK(all_windows(folder.open(options)) == "abcd|bcde hijk|ijkl");
}

TEST_CASE("Rows follow the indices asked for, and the facts tell context and vocabulary") {
  TextFolder folder;
  const auto data = folder.open(folder.files({folder.put("text", letters(41))}));
  auto batch = read(data, {7, 0, 7});
  CHECK(batch.fields["input"].sizes() == at::IntArrayRef({3, 4}));
  CHECK((batch.fields["input"].scalar_type() == at::kLong));
  CHECK(text_of(batch.fields["input"][0]) == letters(41).substr(28, 4));
  CHECK(text_of(batch.fields["target"][2]) == letters(41).substr(29, 4));
  CHECK(text_of(batch.fields["input"][1]) == letters(4));
  const auto facts = data.facts();
  REQUIRE(facts.fields.size() == 2);
  for (const auto* name : {"input", "target"}) {
    CHECK(facts.find(name)->dtype == "int64");
    CHECK(facts.find(name)->shape == std::vector<std::int64_t>{4});
    CHECK(facts.find(name)->classes == 256);
  }
}

TEST_CASE("Bytes above 127 are tokens 128 to 255") {
  TextFolder folder;
  const auto data = folder.open(folder.files({folder.put("text", std::string("\x00\x7f\x80\xff\xc3", 5))}));
  CHECK(at::equal(read(data, {0}).fields["input"],
                  at::tensor(std::vector<std::int64_t>{0, 127, 128, 255}, at::kLong).unsqueeze(0)));
}

TEST_CASE("Bins of 1, 2 and 4 bytes are read little-endian, up to the last token of the vocabulary") {
  TextFolder folder;
  struct Row {
    const char* dtype;
    int bytes;
    std::vector<std::uint64_t> tokens;
    std::int64_t vocabulary;
  };
  for (const Row& row : {Row{"u8", 1, {0, 1, 2, 200, 3}, 201}, Row{"u16", 2, {1, 256, 0x1234, 50256, 0xffff}, 65536},
                         Row{"u32", 4, {1, 0x10000, 0x00345678, 7, 0x00ffffff}, 0x1000000}}) {
    CAPTURE(row.dtype);
    const auto data = folder.open(folder.bins(bin(row.tokens, row.bytes), row.dtype, row.vocabulary));
    CHECK(data.size() == 1);
    CHECK(data.facts().find("target")->classes == row.vocabulary);
    auto batch = read(data, {0});
    for (std::size_t i = 0; i < 4; ++i) {
      const auto at = static_cast<std::int64_t>(i);
      CHECK(batch.fields["input"][0][at].item<std::int64_t>() == static_cast<std::int64_t>(row.tokens[i]));
      CHECK(batch.fields["target"][0][at].item<std::int64_t>() == static_cast<std::int64_t>(row.tokens[i + 1]));
    }
  }
}

TEST_CASE("Train and eval parts share no token, and a window crosses neither the cut nor the end of a file") {
  TextFolder folder;
  const std::string one = letters(37), two = letters(75).substr(40, 23);
  Options options = folder.files({folder.put("one", one), folder.put("two", two)});
  options.set("eval_share", 0.5);  // the cut is at token 30 of 60: in the first file
  options.set("stride", std::int64_t{1});
  options.set("part", std::string("train"));
  const auto train = folder.open(options);
  options.set("part", std::string("eval"));
  const auto eval = folder.open(options);
  CHECK(train.size() == 30 - 4);
  CHECK(eval.size() == (7 - 4) + (23 - 4));
  CHECK(window(train, 0) == one.substr(0, 4) + "|" + one.substr(1, 4));
  CHECK(window(train, 25) == one.substr(25, 4) + "|" + one.substr(26, 4));
  CHECK(window(eval, 0) == one.substr(30, 4) + "|" + one.substr(31, 4));
  CHECK(window(eval, 2) == one.substr(32, 4) + "|" + one.substr(33, 4));
  CHECK(window(eval, 3) == two.substr(0, 4) + "|" + two.substr(1, 4));
  CHECK(window(eval, 21) == two.substr(18, 4) + "|" + two.substr(19, 4));
  options.set("part", std::string("all"));
  CHECK(folder.open(options).size() == (37 - 4) + (23 - 4));
}

TEST_CASE("A gzip file reads like the plain one, fingerprint included") {
  TextFolder folder;
  const std::string text = letters(3'000'000);  // more than the first block that is unpacked into
  const auto plain = folder.open(folder.files({folder.put("plain", text)}));
  const auto packed = folder.open(folder.files({folder.put("packed", gzip(text))}));
  CHECK(packed.size() == plain.size());
  CHECK(packed.fingerprint() == plain.fingerprint());
  CHECK(window(packed, packed.size() - 1) == window(plain, plain.size() - 1));
}

TEST_CASE("The fingerprint follows content and options, not names") {
  TextFolder folder;
  const auto print = [&](const Options& options) { return folder.open(options).fingerprint(); };
  const std::string base = print(folder.files({folder.put("a", letters(50))}));
  CHECK(base.starts_with("xxh3:"));
  CHECK(base.size() == 37);
  CHECK(print(folder.files({folder.put("b", letters(50))})) == base);
  std::set<std::string> seen = {base};
  const auto differs = [&](const Options& options) { CHECK(seen.insert(print(options)).second); };
  std::string changed = letters(50);
  changed[20] = '~';
  differs(folder.files({folder.put("c", changed)}));
  differs(folder.files({folder / "a"}, 5));
  differs(folder.files({folder.put("d", letters(25)), folder.put("e", letters(50).substr(25))}));
  Options options = folder.files({folder / "a"});
  options.set("stride", std::int64_t{4});
  CHECK(print(options) == base);  // the default, written out
  options.set("stride", std::int64_t{2});
  differs(options);
  options = folder.files({folder / "a"});
  options.set("part", std::string("train"));
  differs(options);
  options.set("eval_share", 0.3);
  differs(options);
  options.set("part", std::string("eval"));
  differs(options);
  options = folder.files({folder / "a"});
  options.set("dtype", std::string("u8"));
  options.set("vocabulary", std::int64_t{256});
  CHECK(print(options) == base);  // the same tokens
  options.set("vocabulary", std::int64_t{300});
  differs(options);
}

TEST_CASE("Several threads read the same windows as one") {
  TextFolder folder;
  const auto data = folder.open(folder.files({folder.put("one", letters(999)), folder.put("two", letters(333))}, 16));
  std::vector<std::int64_t> indices;
  for (std::int64_t i = 0; i < data.size(); ++i) indices.push_back(data.size() - 1 - i);
  const auto expected = read(data, indices).fields["target"].clone();
  std::vector<int> equal(4, 0);
  {
    std::vector<std::jthread> threads;
    for (auto& flag : equal)
      threads.emplace_back([&] {
        for (int round = 0; round < 20; ++round)
          flag += at::equal(read(data, indices).fields["target"], expected) ? 1 : 0;
      });
  }
  CHECK(equal == std::vector<int>(4, 20));
}
