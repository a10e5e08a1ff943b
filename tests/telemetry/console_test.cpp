#include "telemetry/console.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

using namespace holdfast::telemetry;

namespace {

/// A terminal of 70 columns: what is written to `inner` can be read from `outer`.
struct Terminal {
  Terminal() : outer(posix_openpt(O_RDWR | O_NOCTTY)) {
    REQUIRE(outer >= 0);
    grantpt(outer);
    unlockpt(outer);
    inner = open(ptsname(outer), O_RDWR | O_NOCTTY);
    winsize size{};
    size.ws_col = 70;
    ioctl(outer, TIOCSWINSZ, &size);
  }
  ~Terminal() { close(inner), close(outer); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  /// What was written since the last call. A terminal hands bytes over in pieces, so a mark is written and awaited.
  [[nodiscard]] std::string shown() const {
    REQUIRE(write(inner, "|", 1) == 1);
    std::string text;
    char piece[512];
    while (!text.ends_with('|')) {
      const ssize_t size = read(outer, piece, sizeof piece);
      REQUIRE(size > 0);
      text.append(piece, static_cast<std::size_t>(size));
    }
    text.pop_back();
    return text;
  }
  int outer, inner = -1;
};

}  // namespace

TEST_CASE("a bar is drawn on a capable terminal only") {
  const Terminal terminal;
  CHECK(console_mode(terminal.inner, false, false, "xterm") == ConsoleMode::kBar);
  CHECK(console_mode(terminal.inner, false, false, "dumb") == ConsoleMode::kLines);
  CHECK(console_mode(terminal.inner, false, false, "") == ConsoleMode::kLines);
  CHECK(console_mode(terminal.inner, false, true, "xterm") == ConsoleMode::kLines);
  CHECK(console_mode(terminal.inner, true, false, "xterm") == ConsoleMode::kSilent);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  CHECK(console_mode(ends[1], false, false, "xterm") == ConsoleMode::kLines);
  CHECK(Console(ends[1]).width() == 80);
  close(ends[0]), close(ends[1]);
}

TEST_CASE("the drawn line is replaced, and erased once") {
  const Terminal terminal;
  Console console(terminal.inner);
  CHECK(console.width() == 70);
  console.draw("50 %");
  CHECK(terminal.shown() == "\r50 %\x1b[K");
  console.erase();
  console.erase();
  console.draw("51 %");
  CHECK(terminal.shown() == "\r\x1b[K\r51 %\x1b[K");
}
