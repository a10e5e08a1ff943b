// Atomic files: the old one or the new one at every failure point, nothing left beside.
#include "base/atomic_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "faulty_file_system.hpp"
#include "holdfast/error.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::base;
namespace fs = std::filesystem;
using test::error_text;

namespace {
std::size_t entries(const std::string& path) { return Folder::open(path).entries().size(); }
}  // namespace

TEST_CASE("a written file has the text and the mode, and replaces a link instead of following it") {
  const test::TempFolder temp;
  test::write_text(temp / "precious", "keep");
  fs::create_symlink("precious", temp / "f");
  write_file_atomic(temp / "f", "new", 0640);
  CHECK(test::read_text(temp / "precious") == "keep");
  CHECK(!fs::is_symlink(temp / "f"));
  CHECK(read_file(temp / "f", 3) == "new");
  struct stat info {};
  REQUIRE(::stat((temp / "f").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0640);
}

TEST_CASE("whichever call fails, the file is the old or the new one and no temporary stays") {
  const test::TempFolder temp;
  test::FaultyFileSystem counting;
  write_file_atomic(temp / "f", "old", 0644, counting);
  REQUIRE(counting.calls() >= 5);
  for (int at = 0; at < counting.calls(); ++at) {
    write_file_atomic(temp / "f", "old");
    test::FaultyFileSystem faulty(at, ENOSPC);
    const std::string told = error_text<Error>([&] { write_file_atomic(temp / "f", "new", 0644, faulty); });
    CHECK(told.find("error[io.disk_full]: cannot ") != std::string::npos);
    const std::string now = test::read_text(temp / "f");
    CHECK((now == "old" || now == "new"));
    CHECK(entries(temp.path()) == 1);
  }
}

TEST_CASE("a link is replaced in one step; a folder in its place is told") {
  const test::TempFolder temp;
  const Folder folder = Folder::open(temp.path());
  write_link_atomic(folder, "latest", "a");
  write_link_atomic(folder, "latest", "b");
  CHECK(folder.link_target("latest") == "b");
  CHECK(entries(temp.path()) == 1);
  fs::create_directory(temp / "dir");
  CHECK(error_text<Error>([&] { write_link_atomic(folder, "dir", "b"); }) ==
        temp / "dir" +
            ": error[io.failed]: cannot write: Is a directory (EISDIR)\n  hint: see the message of the system, then "
            "run again");
  CHECK(entries(temp.path()) == 2);
}

TEST_CASE("reading is bounded and refuses what is no regular file") {
  const test::TempFolder temp;
  test::write_text(temp / "f", "12345");
  CHECK(error_text<Error>([&] { read_file(temp / "f", 4); }) ==
        temp / "f" +
            ": error[io.too_big]: cannot read: 5 bytes, more than the 4 allowed here\n  hint: name a smaller file");
  CHECK(error_text<Error>([&] { read_file(temp.path(), 4); }) ==
        temp.path() +
            ": error[io.not_a_file]: cannot read: not a regular file\n  hint: name a file, not a folder, device "
            "or pipe");
}
