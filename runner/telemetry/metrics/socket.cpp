// Made here and not by libmicrohttpd, which keeps the reason of a failure to itself.
#include "telemetry/metrics/socket.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace holdfast::telemetry {
namespace {

constexpr int kBacklog = 128;

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  int family = AF_INET;
};

SocketAddress socket_address(const base::ListenAddress& address, bool ipv6) {
  SocketAddress out;
  if (ipv6) {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(static_cast<std::uint16_t>(address.port));
    in.sin6_addr = in6addr_any;
    if (!address.host.empty()) inet_pton(AF_INET6, address.host.c_str(), &in.sin6_addr);
    std::memcpy(&out.bytes, &in, sizeof in);
    out.size = sizeof in;
  } else {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(static_cast<std::uint16_t>(address.port));
    in.sin_addr.s_addr = htonl(INADDR_ANY);
    if (!address.host.empty()) inet_pton(AF_INET, address.host.c_str(), &in.sin_addr);
    std::memcpy(&out.bytes, &in, sizeof in);
    out.size = sizeof in;
  }
  out.family = ipv6 ? AF_INET6 : AF_INET;
  return out;
}

/// -1 with errno on failure.
base::File listen_on(const SocketAddress& at, bool both_families) {
  base::File file(::socket(at.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (file.fd() < 0) return file;
  const int on = 1, only = both_families ? 0 : 1;
  setsockopt(file.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (at.family == AF_INET6) setsockopt(file.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
  if (::bind(file.fd(), reinterpret_cast<const sockaddr*>(&at.bytes), at.size) == 0 &&
      ::listen(file.fd(), kBacklog) == 0)
    return file;
  const int failure = errno;
  file = base::File();
  errno = failure;
  return file;
}

int port_of(int descriptor) {
  sockaddr_storage bytes{};
  socklen_t size = sizeof bytes;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&bytes), &size) != 0) return 0;
  sockaddr_in in{};  // the port lies at the same place in both families
  std::memcpy(&in, &bytes, sizeof in);
  return ntohs(in.sin_port);
}

}  // namespace

base::File listening_socket(base::ListenAddress& address, std::string& problem) {
  const bool every = address.host.empty();
  base::File file = listen_on(socket_address(address, every || address.is_ipv6()), every);
  if (file.fd() < 0 && every && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL))  // a machine without IPv6
    file = listen_on(socket_address(address, false), false);
  if (file.fd() < 0)
    problem = std::generic_category().message(errno);
  else
    address.port = port_of(file.fd());
  return file;
}

}  // namespace holdfast::telemetry
