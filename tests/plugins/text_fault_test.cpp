// The text data set on bad files and options: one sentence each, when it is opened; and a file that shrinks in use.
#include <doctest/doctest.h>

#include <filesystem>

#include "text_fixture.hpp"

using namespace holdfast::test;
using holdfast::Options;

TEST_CASE("A missing file, a folder, an empty file and an empty gzip file are refused") {
  TextFolder folder;
  CHECK(folder.fault(folder.files({folder / "nowhere"})) ==
        "66 DIR/nowhere: error[data.missing]: cannot be opened: No such file or directory\n"
        "  hint: relative paths start at the recipe's folder");
  CHECK(folder.fault(folder.files({folder.folder.path()})) ==
        "66 DIR: error[data.not_a_file]: is a folder, not a regular file");
  const std::string empty = ": error[data.empty]: is empty\n  hint: fetch the file again";
  CHECK(folder.fault(folder.files({folder.put("empty", "")})) == "65 DIR/empty" + empty);
  CHECK(folder.fault(folder.files({folder.put("packed", gzip(""))})) == "65 DIR/packed" + empty);
}

TEST_CASE("C67: a text whose gzip data is cut is refused") {
  TextFolder folder;
  const std::string packed = gzip(letters(5000));
  const std::string told = folder.fault(folder.files({folder.put("text", packed.substr(0, packed.size() - 6))}));
  CHECK(told == "65 DIR/text: error[data.truncated]: the gzip data breaks off at the end of the file (" +
                    std::to_string(packed.size() - 6) + " bytes), after 5000 unpacked bytes\n" +
                    "  hint: fetch the file again");
}

TEST_CASE("A file shorter than one window is refused, also when it is one of several") {
  TextFolder folder;
  CHECK(folder.fault(folder.files({folder.put("good", letters(5)), folder.put("short", letters(4))})) ==
        "65 DIR/short: error[data.too_short]: holds 4 tokens, fewer than one window of 5 (`context` = 4 and the token "
        "that follows)\n  hint: set a smaller `context`, or leave this file out");
  CHECK(folder.fault(folder.bins(bin({1, 2, 3, 4}, 2), "u16", 10))
            .starts_with("65 DIR/tokens.bin: error[data.too_short]: holds 4 tokens, fewer than one window of 5 "));
}

TEST_CASE("A part without a window is refused, naming its tokens") {
  TextFolder folder;
  Options options = folder.files({folder.put("text", letters(40))});
  options.set("part", std::string("eval"));
  CHECK(folder.fault(options) ==
        "65 dataset.train: error[data.no_window]: part \"eval\" is 4 of 40 tokens, and in no file it holds a window of "
        "5 (`context` = 4 and the token that follows)\n  hint: change `eval_share`, or set a smaller `context`");
  options.set("part", std::string("train"));
  options.set("eval_share", 0.95);
  CHECK(folder.fault(options).starts_with("65 dataset.train: error[data.no_window]: part \"train\" is 2 of 40 tokens"));
}

TEST_CASE("A bin whose size is no whole number of tokens is refused") {
  TextFolder folder;
  const std::string hint = "\n  hint: check `dtype`; a file that was cut short looks like this too";
  CHECK(folder.fault(folder.bins(letters(21), "u16", 65536)) ==
        "65 DIR/tokens.bin: error[data.size]: holds 21 bytes, no whole number of u16 tokens of 2 bytes" + hint);
  CHECK(folder.fault(folder.bins(gzip(letters(22)), "u32", 65536)) ==
        "65 DIR/tokens.bin: error[data.size]: holds 22 bytes, no whole number of u32 tokens of 4 bytes" + hint);
}

TEST_CASE("C72: a token outside the vocabulary is named by file and position when the set is opened") {
  TextFolder folder;
  const std::string hint =
      "\n  hint: check `dtype`, and set `vocabulary` to the number of tokens that the tokenizer knows";
  CHECK(folder.fault(folder.bins(bin({1, 2, 3, 50, 5, 51}, 2), "u16", 50)) ==
        "65 DIR/tokens.bin: error[data.token_range]: token 50 at position 3 lies outside 0..49, the range of "
        "`vocabulary` = 50" +
            hint);
  CHECK(folder.fault(folder.bins(bin({1, 2, 3, 4, 0xffffffff}, 4), "u32", 50)) ==
        "65 DIR/tokens.bin: error[data.token_range]: token 4294967295 at position 4 lies outside 0..49, the range of "
        "`vocabulary` = 50" +
            hint);
  CHECK(folder.fault(folder.bins(letters(9), "u8", 50)) ==
        "65 DIR/tokens.bin: error[data.token_range]: token 50 at position 2 lies outside 0..49, the range of "
        "`vocabulary` = 50" +
            hint);
}

TEST_CASE("A bad token far into a file of several pieces keeps its position, and the other part does not see it") {
  TextFolder folder;
  std::vector<std::uint64_t> tokens(2'500'000, 7);
  tokens[2'300'001] = 99;
  Options options = folder.bins(bin(tokens, 2), "u16", 50);
  CHECK(folder.fault(options).find("token 99 at position 2300001 lies outside 0..49") != std::string::npos);
  options.set("part", std::string("eval"));
  CHECK(folder.fault(options).find("token 99 at position 2300001 lies outside 0..49") != std::string::npos);
  options.set("part", std::string("train"));
  CHECK(folder.fault(options) == "no error");
}

TEST_CASE("Bins need a vocabulary, and bytes have theirs") {
  TextFolder folder;
  Options options = folder.files({folder.put("text", letters(40))});
  options.set("dtype", std::string("u16"));
  CHECK(folder.fault(options) ==
        "78 dataset.train: error[data.vocabulary]: `dtype` = \"u16\" needs `vocabulary`, which is not given\n"
        "  hint: set it to the number of tokens that the tokenizer knows");
  options.set("dtype", std::string("bytes"));
  options.set("vocabulary", std::int64_t{128});
  CHECK(folder.fault(options) ==
        "78 dataset.train: error[data.vocabulary]: `dtype` = \"bytes\" has a vocabulary of 256, but `vocabulary` is "
        "128\n  hint: leave `vocabulary` out, or write `dtype` = \"u8\" for tokens of one byte");
  options.set("vocabulary", std::int64_t{256});
  CHECK(folder.fault(options) == "no error");
}

TEST_CASE("A file that is cut while it is mapped ends in a sentence, not in SIGBUS; a gzip file does not care") {
  TextFolder folder;
  const std::string text = letters(20'000);
  const auto plain = folder.open(folder.files({folder.put("plain", text)}));
  const auto packed = folder.open(folder.files({folder.put("packed", gzip(text))}));
  std::filesystem::resize_file(folder / "plain", 5000);
  std::filesystem::resize_file(folder / "packed", 10);
  CHECK_NOTHROW(read(plain, {0}));
  CHECK(folder.without_folder(told([&] { read(plain, {plain.size() - 1}); })) ==
        "74 DIR/plain: error[data.shortened]: was shortened while it is in use: it had 20000 bytes and has 5000 now\n"
        "  hint: leave the data alone during a run; put the file back and run again to go on");
  CHECK_NOTHROW(read(packed, {packed.size() - 1}));
}
