// A connected datagram socket.
#include "base/service_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace holdfast::base {

ServiceSocket::ServiceSocket(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() < 2 || (socket[0] != '/' && socket[0] != '@') || socket.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket.data(), socket.size());
  if (socket[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0)
    fd_ = fd;
  else
    ::close(fd);
}

ServiceSocket::~ServiceSocket() {
  if (fd_ >= 0) ::close(fd_);
}

void ServiceSocket::send(std::string_view assignments) noexcept {
  if (fd_ < 0) return;
  [[maybe_unused]] const ssize_t sent =
      ::send(fd_, assignments.data(), assignments.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace holdfast::base
