// Results straight to the descriptor: stdio would lose the failure of a write that it had already given up.
#include "base/output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "base/io_error.hpp"

namespace holdfast::base {

void fill_standard_descriptors() {
  for (int number = 0; number <= 2; ++number)
    if (::fcntl(number, F_GETFD) < 0 && errno == EBADF)
      (void)!::open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);  // takes the lowest free number: this one
}

void Output::put(std::string_view text) noexcept {
  while (!text.empty() && reason_ == 0) {
    const ssize_t written = ::write(descriptor_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {  // whoever shares this pipe made it non-blocking
      pollfd ready{descriptor_, POLLOUT, 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      reason_ = errno;
    }
  }
}

std::optional<Error> Output::failure() const {
  if (reason_ == 0 || reason_ == EPIPE) return std::nullopt;
  const Error error = io_error(Doing::kWrite, "/stdout", reason_);
  const bool closed = reason_ == EBADF;
  return Error(ExitCode::kIoError, closed ? "output.closed" : "output.write", "stdout", error.message(),
               closed ? "the result was lost because stdout is closed: run again with it open"
                      : "the result was lost: " + error.hint());
}

}  // namespace holdfast::base
