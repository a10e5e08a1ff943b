#include "report/lines.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "temp_folder.hpp"

using namespace holdfast::report;
using holdfast::test::TempFolder;

namespace {

struct Read {
  LinesRead told;
  std::vector<std::string> lines;
};

Read lines_of(const std::string& text, std::size_t longest) {
  TempFolder folder;
  std::ofstream(folder / "f", std::ios::binary) << text;
  Read out;
  out.told = read_lines(folder / "f", longest, [&](std::string_view line) { out.lines.emplace_back(line); });
  return out;
}

}  // namespace

TEST_CASE("whole lines are handed on, a torn last one is left out and told") {
  const Read read = lines_of("one\n\nthree\nfou", 100);
  CHECK(read.lines == std::vector<std::string>{"one", "", "three"});
  CHECK(read.told.torn);
  CHECK(read.told.whole == 3);
  CHECK_FALSE(lines_of("one\n", 100).told.torn);
}

TEST_CASE("lines that span the reader's blocks arrive whole") {
  const std::string a(262143, 'a'), b(300000, 'b'), c(262144, 'c');
  const Read read = lines_of(a + "\n" + b + "\n" + c + "\n", 1 << 20);
  REQUIRE(read.lines.size() == 3);
  CHECK(read.lines[0] == a);
  CHECK(read.lines[1] == b);
  CHECK(read.lines[2] == c);
}

TEST_CASE("a line that is too long costs nothing but itself") {
  const Read read = lines_of("one\n" + std::string(700000, 'x') + "\ntwo\n" + std::string(11, 'y') + "\nthree\n", 10);
  CHECK(read.lines == std::vector<std::string>{"one", "two", "three"});
  CHECK(read.told.too_long == 2);
  CHECK_FALSE(read.told.torn);
  CHECK(lines_of(std::string(700000, 'x'), 10).told.torn);
}

TEST_CASE("an absent file, a folder and a pipe are not opened") {
  TempFolder folder;
  const auto none = [](std::string_view /*line*/) { FAIL("no line was expected"); };
  CHECK_FALSE(read_lines(folder / "absent", 10, none).opened);
  CHECK_FALSE(read_lines(folder.path(), 10, none).opened);
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_FALSE(read_lines(folder / "pipe", 10, none).opened);
}
