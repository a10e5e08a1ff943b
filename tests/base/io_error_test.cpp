// errno to exit code and words.
#include "base/io_error.hpp"

#include <doctest/doctest.h>

#include <cerrno>

using namespace holdfast;
using namespace holdfast::base;

TEST_CASE("a full disk, a quota, a size limit, a faulty disk and spent descriptors are 74 whatever was being done") {
  for (const Doing doing : {Doing::kRead, Doing::kCreate, Doing::kWrite})
    for (const int number : {ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE, EIO})
      CHECK(io_error(doing, "/x", number).code() == ExitCode::kIoError);
}

TEST_CASE("refused permission is 77 for output and 66 for input; the rest of the paths follow the contract") {
  CHECK(io_error(Doing::kCreate, "/x", EACCES).code() == ExitCode::kPermission);
  CHECK(io_error(Doing::kWrite, "/x", EPERM).code() == ExitCode::kPermission);
  CHECK(io_error(Doing::kRead, "/x", EACCES).code() == ExitCode::kMissingInput);
  CHECK(io_error(Doing::kRead, "/x", ENOENT).code() == ExitCode::kMissingInput);
  CHECK(io_error(Doing::kRead, "/x", ELOOP).code() == ExitCode::kMissingInput);
  CHECK(io_error(Doing::kCreate, "/x", ENOENT).code() == ExitCode::kCannotCreate);
  CHECK(io_error(Doing::kCreate, "/x", EROFS).code() == ExitCode::kCannotCreate);
  CHECK(io_error(Doing::kCreate, "/x", EEXIST).code() == ExitCode::kCannotCreate);
  CHECK(io_error(Doing::kWrite, "/x", EROFS).code() == ExitCode::kIoError);
}

TEST_CASE("the sentence names the absolute path, the system's words and the next action") {
  CHECK(std::string(io_error(Doing::kWrite, "/runs/a/../mnist/model", ENOSPC).what()) ==
        "/runs/mnist/model: error[io.disk_full]: cannot write: No space left on device (ENOSPC)\n"
        "  hint: free space on its file system, then run again");
  CHECK(std::string(io_error(Doing::kCreate, "/proc/x", EACCES).what()) ==
        "/proc/x: error[io.permission]: cannot create: Permission denied (EACCES)\n"
        "  hint: give this user permission to write there, or use --output DIR");
  CHECK(std::string(io_error(Doing::kRead, "/data/train.gz", ENOENT).what()) ==
        "/data/train.gz: error[io.missing]: cannot read: No such file or directory (ENOENT)\n"
        "  hint: check the path; relative paths in a recipe start at its folder");
  CHECK(io_error(Doing::kRead, "/a\x1b[2Jb", ENOENT).where() == "/a\\x1b[2Jb");
  CHECK(io_error(Doing::kRead, "/x", 99999).message() == "cannot read: error 99999");
}

TEST_CASE("paths become absolute without a slash at their end") {
  CHECK(absolute_path("/a/b/../c/") == "/a/c");
  CHECK(absolute_path("/") == "/");
  CHECK(absolute_path("x").ends_with("/x"));
}
