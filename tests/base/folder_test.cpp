// Folder: single names below one descriptor, regular files only.
#include "base/folder.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "holdfast/error.hpp"
#include "temp_folder.hpp"

using namespace holdfast;
using namespace holdfast::base;
namespace fs = std::filesystem;
using test::error_text;

TEST_CASE("names that leave the folder are refused") {
  const test::TempFolder temp;
  const Folder folder = Folder::open(temp.path());
  for (const std::string name : {"", ".", "..", "a/b", "/etc/passwd", "../x"})
    CHECK(error_text<Error>([&] { (void)folder.read(name, 10); }) ==
          "error[io.name]: '" + name + "' is not the name of a file in a folder");
}

TEST_CASE("only regular files are read: links, FIFOs and folders are refused without waiting") {
  const test::TempFolder temp;
  test::write_text(temp / "real", "hello");
  fs::create_symlink("real", temp / "link");
  fs::create_directory(temp / "folder");
  REQUIRE(::mkfifo((temp / "fifo").c_str(), 0600) == 0);
  const Folder folder = Folder::open(temp.path());
  CHECK(folder.read("real", 5) == "hello");
  CHECK(error_text<Error>([&] { (void)folder.read("link", 9); }) ==
        temp / "link" +
            ": error[io.link]: cannot read: Too many levels of symbolic links (ELOOP)\n  hint: a link stands where a "
            "file or folder is expected: put the real one there");
  for (const std::string name : {"fifo", "folder"})
    CHECK(error_text<Error>([&] { (void)folder.read(name, 9); }) ==
          temp / name +
              ": error[io.not_a_file]: cannot read: not a regular file\n  hint: put the file there, not a folder, "
              "device or pipe");
  CHECK(error_text<Error>([&] { (void)folder.read("real", 4); }) ==
        temp / "real" +
            ": error[io.too_big]: cannot read: 5 bytes, more than the 4 allowed here\n  hint: this is not a file that "
            "holdfast wrote");
}

TEST_CASE("a linked folder is not entered from above") {
  const test::TempFolder temp;
  fs::create_directory(temp / "real");
  fs::create_symlink("real", temp / "link");
  const Folder folder = Folder::open(temp.path());
  CHECK(folder.open_below("real").path() == temp / "real");
  CHECK_THROWS_AS(folder.open_below("link"), Error);
  CHECK_THROWS_AS(folder.make_below("link"), Error);
}

TEST_CASE("entries come sorted with their kind") {
  const test::TempFolder temp;
  test::write_text(temp / "b", "");
  fs::create_directory(temp / "a");
  fs::create_symlink("nowhere", temp / "c");
  const auto entries = Folder::open(temp.path()).entries();
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].name == "a");
  CHECK(entries[0].kind == EntryKind::kFolder);
  CHECK(entries[1].kind == EntryKind::kFile);
  CHECK(entries[2].kind == EntryKind::kLink);
}

TEST_CASE("a tree is removed without following links out of it") {
  const test::TempFolder temp;
  fs::create_directories(temp / "tree/deep");
  fs::create_directory(temp / "precious");
  test::write_text(temp / "precious/file", "keep");
  fs::create_directory_symlink("../precious", temp / "tree/link");
  test::write_text(temp / "tree/deep/file", "x");
  Folder::open(temp.path()).remove_tree("tree");
  CHECK(!fs::exists(temp / "tree"));
  CHECK(test::read_text(temp / "precious/file") == "keep");
}

TEST_CASE("create makes parents, and says so in words when a file is in the way") {
  const test::TempFolder temp;
  CHECK(Folder::create(temp / "a/b/c").path() == temp / "a/b/c");
  test::write_text(temp / "file", "");
  const std::string text = error_text<Error>([&] { Folder::create(temp / "file/x"); });
  CHECK(text == temp / "file/x" +
                    ": error[io.not_a_folder]: cannot create: Not a directory (ENOTDIR)\n  hint: a part of the path is "
                    "a file: remove it or use --output DIR");
}

TEST_CASE("a file that shrinks while it is read is told with both sizes") {
  const test::TempFolder temp;
  test::write_text(temp / "f", "1234");
  const Folder folder = Folder::open(temp.path());
  const OpenFile opened = folder.open_file("f");
  fs::resize_file(temp / "f", 3);
  std::vector<std::byte> bytes(opened.size);
  CHECK(error_text<Error>([&] { read_exactly(folder.system(), opened.file, "/f", bytes); }) ==
        "/f: error[io.truncated]: cannot read: the file ends after 3 of 4 bytes\n  hint: it was cut while being read; "
        "put the whole file there");
}
