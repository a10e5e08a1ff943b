// Files that are no recipe: kinds, encodings, duplicates, hostile nesting.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include "spec/fake_catalog.hpp"

using namespace holdfast;
using namespace holdfast::spec;
using namespace holdfast::spec::testing;

namespace {

/// The fault of reading exactly this path, the folder cut away, with its exit code.
std::string fault_of(const std::string& path, const Folder& folder) {
  try {
    read_recipe(path, {});
  } catch (const Faults& error) {
    std::string what = error.what();
    for (std::size_t at; (at = what.find(folder.path())) != std::string::npos;)
      what.replace(at, folder.path().size(), "F");
    return std::to_string(static_cast<int>(error.code())) + " " + what;
  }
  return "no fault";
}

std::string with_crlf(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return out;
}

}  // namespace

TEST_CASE("C89: a byte order mark and CRLF line ends load") {
  const Recipe recipe = read("\xEF\xBB\xBF" + with_crlf(kHead));
  CHECK(recipe.train.integer("batch_size") == 64);
  CHECK(recipe.effective_toml == [&] {
    const Recipe plain = read(kHead);
    std::string text = plain.effective_toml;
    for (std::size_t at; (at = text.find(plain.folder)) != std::string::npos;)
      text.replace(at, plain.folder.size(), recipe.folder);
    return text;
  }());
  // Place and excerpt are those of the same recipe without them.
  CHECK(faults("\xEF\xBB\xBF" + with_crlf("seed = 3\n" + kHead)) == faults("seed = 3\n" + kHead));
}

TEST_CASE("C89: another encoding is refused in one sentence") {
  CHECK(faults(std::string("\xFF\xFE[\0r\0u\0n\0]\0", 12)) ==
        "r.toml: error[recipe.encoding]: a recipe is UTF-8 text: got UTF-16 or UTF-32\n  hint: save the file as UTF-8");
  CHECK(faults(std::string("[\0r\0u\0n\0]\0", 10)) ==
        "r.toml: error[recipe.encoding]: a recipe is UTF-8 text: got UTF-16 or UTF-32\n  hint: save the file as UTF-8");
  CHECK(
      faults("[run]\nname = \"gr\xFC\xDF\"\n") ==
      "r.toml:2:11: error[recipe.encoding]: a recipe is UTF-8 text: got the byte xFC\n  hint: save the file as UTF-8");
  CHECK(faults(std::string("[run]\nname = \"a\0b\"\n", 20)) ==
        "r.toml:2:10: error[recipe.encoding]: a recipe is UTF-8 text: got a NUL byte\n  hint: is this the right file?");
  for (const std::string bytes : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80", "\xF8"})
    CHECK(faults("# " + bytes + "\n").find("got the byte x") != std::string::npos);
}

TEST_CASE("C89: an empty file, a folder, a pipe, a device and a missing file are refused in one sentence") {
  const Folder folder;
  CHECK(fault_of(folder.write("empty.toml", ""), folder) ==
        "78 F/empty.toml: error[recipe.empty]: the recipe is empty\n"
        "  hint: a recipe needs at least [model], [dataset.train] and [train]");
  CHECK(fault_of(folder.write("blank.toml", "\xEF\xBB\xBF \r\n\t\n"), folder) ==
        "78 F/blank.toml: error[recipe.empty]: the recipe is empty\n"
        "  hint: a recipe needs at least [model], [dataset.train] and [train]");
  CHECK(fault_of(folder.path(), folder) ==
        "66 F: error[recipe.not_a_file]: a recipe is a regular file: got a folder, F");
  REQUIRE(mkfifo((folder.path() + "/pipe").c_str(), 0600) == 0);
  CHECK(fault_of(folder.path() + "/pipe", folder) ==
        "66 F/pipe: error[recipe.not_a_file]: a recipe is a regular file: got a pipe, F/pipe");
  CHECK(fault_of("/dev/zero", folder) ==
        "66 /dev/zero: error[recipe.not_a_file]: a recipe is a regular file: got a device, /dev/zero");
  CHECK(fault_of(folder.path() + "/none.toml", folder) ==
        "66 F/none.toml: error[recipe.missing]: there is no such recipe: tried F/none.toml\n"
        "  hint: check the path; relative paths start at the current folder");
  CHECK(fault_of(folder.path() + "/empty.toml/x", folder).find("66 F/empty.toml/x: error[recipe.missing]") == 0);
  CHECK(
      fault_of(folder.write("big.toml", "# " + std::string(5 << 20, 'x')), folder) ==
      "78 F/big.toml: error[recipe.too_large]: a recipe has at most 4 MiB: got more\n  hint: is this the right file?");
}

TEST_CASE("C90: a key or table that stands twice is refused with its line, and nothing is taken from either") {
  const std::string hint = "\n  hint: every key and table stands once; no value was taken from either";
  CHECK(faults("[train]\nepochs = 1\nepochs = 2\n") ==
        "r.toml:3:1: error[recipe.duplicate]: given twice: the key 'epochs'\n"
        "  epochs = 2\n  ^" +
            hint);
  CHECK(faults("[train]\nepochs = 1\n[run]\nseed = 1\n[train]\nupdates = 2\n") ==
        "r.toml:5:1: error[recipe.duplicate]: given twice: the table [train]\n"
        "  [train]\n  ^" +
            hint);
  CHECK(faults("train.epochs = 1\n[train]\nupdates = 2\n") ==
        "r.toml:2:1: error[recipe.duplicate]: given twice: the table [train]\n"
        "  [train]\n  ^" +
            hint);
  CHECK(faults("train = { epochs = 1 }\n[train.early_stop]\nmode = \"min\"\n") ==
        "r.toml:2:1: error[recipe.duplicate]: given twice: the table [train.early_stop] adds to a value that is "
        "complete already\n  [train.early_stop]\n  ^" +
            hint);
  CHECK(faults("train = { epochs = 1 }\ntrain.updates = 2\n")
            .find("r.toml:2:1: error[recipe.duplicate]: given twice: the key 'train.updates'") == 0);
  CHECK(faults("train = { epochs = 1, epochs = 2 }\n")
            .find("r.toml:1:1: error[recipe.duplicate]: given twice: the key 'epochs'\n") == 0);
  CHECK(faults("[run]\n'naname' = \"a = b\"\n\"naname\" = \"c = d\"\n")
            .find("r.toml:3:1: error[recipe.duplicate]: given twice: the key '\"naname\"'\n") == 0);
  CHECK(faults("[[train]]\nepochs = 1\n[train]\n")
            .find("r.toml:3:1: error[recipe.duplicate]: given twice: the table [train]") == 0);
}

TEST_CASE("a syntax fault ends the reading and is told alone, at its place") {
  CHECK(faults("[run]\nnonsense = 1\nseed = \nfoo = 2\n") ==
        "r.toml:3:8: error[recipe.syntax]: this is not TOML: key-value pair: expected value, saw '\\n'\n"
        "  seed = \n         ^");
  CHECK(faults("[run]\nname = \"x\n").find("r.toml:2:10: error[recipe.syntax]: this is not TOML: ") == 0);
  CHECK(faults("[run\nname = 3\n").find("error[recipe.syntax]: this is not TOML: ") != std::string::npos);
}

TEST_CASE("nesting without end is a fault, not a crash") {
  std::string brackets, braces, dots = "a";
  for (int i = 0; i < 100'000; ++i) brackets += '[', braces += "{a=", dots += ".a";
  CHECK(faults("a = " + brackets)
            .find("error[recipe.syntax]: this is not TOML: lists and tables nest at most 32 deep: got more") !=
        std::string::npos);
  CHECK(faults("a = " + braces).find("lists and tables nest at most 32 deep: got more") != std::string::npos);
  CHECK(faults("# x\n" + dots + " = 1\n").find("r.toml:2: error[recipe.syntax]: keys nest at most 16 deep: got more") ==
        0);
  CHECK(faults("[" + dots + "]\n").find("keys nest at most 16 deep: got more") != std::string::npos);
  CHECK(faults("x = { " + dots + " = 1 }\n").find("keys nest at most 16 deep: got more") != std::string::npos);
  // Dots in strings and comments are no nesting.
  CHECK(read("# " + dots + "\n" + kHead + "[run]\nname = '" + dots.substr(0, 99) + "'\n").run.string("name").size() ==
        99);
  CHECK(read(kHead + "[run]\nname = \"\"\"\\\n   b\\\"\"\"\" # " + dots + "\n").run.string("name") == "b\"");
}

TEST_CASE("a large recipe full of faults is told in a bounded text") {
  std::string text = "[run]\n";
  for (int i = 0; i < 100'000; ++i) text += "key" + std::to_string(i) + " = 1\n";
  const std::string told = faults(text);
  CHECK(told.size() < 20'000);
  CHECK(told.find("and 970 more faults") != std::string::npos);
  std::string items;
  for (int i = 0; i < 200'000; ++i) items += "0,";
  const std::string list = faults("[model]\nplugin = \"mlp\"\nhidden = [" + items + "]\n");
  CHECK(list.size() < 20'000);
}
