// Carriage return and "erase to the end of the line" (ECMA-48 EL) are all that is used; no colour, no cursor moves.
#include "telemetry/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <new>

namespace holdfast::telemetry {

ConsoleMode console_mode(int file, bool quiet, bool json, std::string_view term) {
  if (quiet) return ConsoleMode::kSilent;
  if (json || isatty(file) == 0 || term.empty() || term == "dumb") return ConsoleMode::kLines;
  return ConsoleMode::kBar;
}

void Console::put(std::string_view text) const noexcept {
  while (!text.empty()) {
    const ssize_t written = write(file_, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Console::draw(const std::string& line) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    put("\r" + line + "\x1b[K");  // one write, so that the line never flickers
    drawn_ = true;
  } catch (const std::bad_alloc&) {  // no memory for one line: the next one may fit
  }
}

void Console::erase() noexcept {
  const std::lock_guard lock(mutex_);
  if (drawn_) put("\r\x1b[K");
  drawn_ = false;
}

int Console::width() const noexcept {
  winsize size{};
  return ioctl(file_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace holdfast::telemetry
