// Escaping, nearest names, figures.
#include "base/text.hpp"

#include <doctest/doctest.h>

using namespace holdfast::base;
using namespace std::string_literals;

TEST_CASE("edit distance counts inserts, deletes, replacements and swaps of neighbours") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("bacth", "batch") == 1);
  CHECK(edit_distance("lr", "lr") == 0);
  CHECK(edit_distance("LR", "rl") == 1);
}

TEST_CASE("the nearest name is offered only when it is near") {
  const std::vector<std::string> names = {"batch_size", "epochs", "lr", "eval_every"};
  CHECK(nearest_name("bacth_size", names) == "batch_size");
  CHECK(nearest_name("epoch", names) == "epochs");
  CHECK(nearest_name("rl", names) == "lr");
  CHECK(nearest_name("Epochs", names) == "epochs");
  CHECK(nearest_name("batch", names) == "batch_size");
  CHECK(nearest_name("ba", names) == std::nullopt);
  CHECK(nearest_name("", names) == std::nullopt);
  CHECK(nearest_name("mpl", std::vector<std::string>{"convnet", "mlp"}) == "mlp");
  CHECK(nearest_name("x", names) == std::nullopt);
  CHECK(nearest_name("momentum", names) == std::nullopt);
  CHECK(nearest_name(std::string(1'000'000, 'e'), names) == std::nullopt);
  CHECK(nearest_name("anything", {}) == std::nullopt);
}

TEST_CASE("figures carry their units and never round into the wrong one") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1024) == "1.0 KiB");
  CHECK(human_bytes(1024 * 1024 - 1) == "1.0 MiB");
  CHECK(human_bytes(std::int64_t{25} << 30) == "25.0 GiB");
  CHECK(human_bytes(-2048) == "-2.0 KiB");
  CHECK(human_duration(0.25) == "0.25 s");
  CHECK(human_duration(9.999) == "10.0 s");
  CHECK(human_duration(59.96) == "1 min 00 s");
  CHECK(human_duration(245) == "4 min 05 s");
  CHECK(human_duration(3599.6) == "1 h 00 min");
  CHECK(human_duration(7380) == "2 h 03 min");
  CHECK(human_duration(3 * 86400 + 4 * 3600) == "3 d 04 h");
  CHECK(human_duration(-2) == "-2.00 s");
  CHECK(human_duration(1.0 / 0.0) == "unknown");
  CHECK(human_count(0) == "0");
  CHECK(human_count(999) == "999");
  CHECK(human_count(1234567) == "1,234,567");
  CHECK(human_count(-1234) == "-1,234");
  const std::vector<std::string> parts = {"a", "b", "c"};
  CHECK(join(parts, ", ") == "a, b, c");
  CHECK(join({}, ", ") == "");
}

TEST_CASE("JSON strings are valid whatever the bytes") {
  CHECK(json_string("a\"b\\c\n\t\r") == R"("a\"b\\c\n\t\r")");
  CHECK(json_string("\x1b[31m\x7f"s + '\0') == R"("\u001b[31m\u007f\u0000")");
  CHECK(json_string("größe 日本 😀") == "\"größe 日本 😀\"");
  CHECK(json_string("\xff\xc0\xaf") == "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST_CASE("broken UTF-8 is replaced: overlong forms, surrogates, too large, cut") {
  const std::string bad = "\xEF\xBF\xBD";
  CHECK(valid_utf8("ok") == "ok");
  CHECK(valid_utf8("\xe0\x80\x80") == bad + bad + bad);
  CHECK(valid_utf8("\xed\xa0\x80") == bad + bad + bad);
  CHECK(valid_utf8("\xf4\x90\x80\x80") == bad + bad + bad + bad);
  CHECK(valid_utf8("\xe2\x82") == bad + bad);
  CHECK(valid_utf8("\xf4\x8f\xbf\xbf") == "\xf4\x8f\xbf\xbf");
}

TEST_CASE("a terminal gets no control character, no bidirectional override and no broken byte") {
  CHECK(terminal_safe("plain ä\n\tx") == "plain ä\n\tx");
  CHECK(terminal_safe_line("a\nb\tc") == "a\\nb\\tc");
  CHECK(terminal_safe("\x1b]0;title\x07\r") == "\\x1b]0;title\\x07\\x0d");
  CHECK(terminal_safe("\xc2\x9b") == "\\x9b");
  CHECK(terminal_safe("a\xe2\x80\xae"
                      "b") == "a\\u202eb");
  CHECK(terminal_safe("\xff") == "\\xff");
}

TEST_CASE("a long text is shortened between two characters and is safe for a terminal") {
  CHECK(shortened(std::string(80, 'a')) == std::string(80, 'a'));
  CHECK(shortened(std::string(81, 'a')) == std::string(77, 'a') + "...");
  CHECK(shortened(std::string(76, 'a') + "\xc3\xa9" + std::string(9, 'a')) == std::string(76, 'a') + "...");
  CHECK(shortened("a\x1b\xff\xc2\x9b\xc3\xa9\n", 9) == "a\\x1b\\xff\\x9b\xc3\xa9\\n");
  CHECK(shortened("\x80\x80\x80\x80\x80", 4) == "...");
  CHECK(shortened("abcd", 2) == "...");
  CHECK(utf8_length("") == 0);
  CHECK(utf8_length("ab") == 1);
  CHECK(utf8_length("\xc3\xa9x") == 2);
  CHECK(utf8_length("\xf0\x9f\x98\x80") == 4);
  for (const char* bad : {"\x80", "\xc0\x80", "\xed\xa0\x80", "\xe2\x82"}) CHECK(utf8_length(bad) == 0);
}
