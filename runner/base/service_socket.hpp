// Messages to the service manager that started this process: one datagram each. Knows neither runs nor the environment.
// Source of the protocol: sd_notify(3) of systemd.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::base {

/// One thread at a time.
class ServiceSocket {
 public:
  /// `socket`: what NOTIFY_SOCKET says, an absolute path or '@' and an abstract name. Anything else: nobody listens.
  explicit ServiceSocket(const std::string& socket);
  ~ServiceSocket();
  ServiceSocket(const ServiceSocket&) = delete;
  ServiceSocket& operator=(const ServiceSocket&) = delete;

  [[nodiscard]] bool listens() const { return fd_ >= 0; }
  /// Assignments, one a line ("READY=1\nSTATUS=training"). Never waits, never fails: a message that cannot be delivered
  /// now is lost.
  void send(std::string_view assignments) noexcept;

 private:
  int fd_ = -1;
};

}  // namespace holdfast::base
