// Results on a full disk, a closed descriptor and a pipe without a reader.
#include "base/output.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

using namespace holdfast;
using namespace holdfast::base;

namespace {

std::string failure_of(int descriptor, const std::string& text) {
  Output output(descriptor);
  output.put(text);
  output.put("more");
  const auto failure = output.failure();
  if (!failure) return "none";
  CHECK(failure->code() == ExitCode::kIoError);
  return failure->what();
}

}  // namespace

TEST_CASE("a result that a full disk refuses is an error, short or long") {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  for (const std::size_t size : {std::size_t{1}, std::size_t{100000}})
    CHECK(failure_of(full, std::string(size, 'x')) ==
          "stdout: error[output.write]: cannot write: No space left on device (ENOSPC)\n"
          "  hint: the result was lost: free space on its file system, then run again");
  ::close(full);
  CHECK(failure_of(full, "x") ==
        "stdout: error[output.closed]: cannot write: Bad file descriptor (EBADF)\n"
        "  hint: the result was lost because stdout is closed: run again with it open");
}

TEST_CASE("a reader that has gone is no failure") {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  ::close(ends[0]);
  CHECK(failure_of(ends[1], "x") == "none");
  ::close(ends[1]);
}

TEST_CASE("a full pipe that does not block is waited for") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_NONBLOCK) == 0);
  const std::string text(300000, 'y');
  const pid_t reader = ::fork();
  if (reader == 0) {
    ::close(ends[1]);
    ::fcntl(ends[0], F_SETFL, 0);
    std::string part(4096, 0);
    std::size_t seen = 0;
    for (ssize_t size = 1; size > 0; seen += static_cast<std::size_t>(size))
      if ((size = ::read(ends[0], part.data(), part.size())) < 0) break;
    ::_exit(seen == text.size() ? 0 : 1);
  }
  CHECK(failure_of(ends[1], text.substr(4)) == "none");  // "more" makes up the rest
  ::close(ends[1]);
  int status = -1;
  ::waitpid(reader, &status, 0);
  CHECK(status == 0);
}
