// A plain TCP client on loopback, blocking, for tests of the endpoint.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::test {

class Client {
 public:
  explicit Client(int port, bool ipv6 = false)
      : fd_(::socket(ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{60, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(port));
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(port));
    v6.sin6_addr = in6addr_loopback;
    const int failed = ipv6 ? ::connect(fd_, reinterpret_cast<sockaddr*>(&v6), sizeof v6)
                            : ::connect(fd_, reinterpret_cast<sockaddr*>(&v4), sizeof v4);
    if (failed != 0) throw std::runtime_error("cannot connect");
  }
  ~Client() {
    if (fd_ >= 0) ::close(fd_);
  }
  Client(Client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// False when the other side has closed.
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Nothing more will be sent.
  void done() const { ::shutdown(fd_, SHUT_WR); }
  /// Everything until the other side closes.
  [[nodiscard]] std::string rest() const {
    std::string all;
    char part[4096];
    while (true) {
      const ssize_t got = ::recv(fd_, part, sizeof part, 0);
      if (got <= 0) return all;
      all.append(part, static_cast<std::size_t>(got));
    }
  }

 private:
  int fd_;
};

/// The whole answer to one request, its head included.
inline std::string ask(int port, const std::string& method, const std::string& path, const std::string& more = "") {
  const Client client(port);
  client.send(method + " " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + more + "\r\n");
  return client.rest();
}

}  // namespace holdfast::test
