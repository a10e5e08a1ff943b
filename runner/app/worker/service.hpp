// A run as a service: ready, status, signs of life, stopping. Rates only; the socket is base/service_socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/service_socket.hpp"
#include "holdfast/hook.hpp"

namespace holdfast::app {

/// What the service manager said in the environment (sd_notify(3), sd_watchdog_enabled(3)).
struct ServiceSettings {
  std::string socket;   ///< NOTIFY_SOCKET; empty: no service
  Duration watchdog{};  ///< WATCHDOG_USEC where it is meant for this process; 0: none
  Duration grace{};     ///< how long stopping may take
  const base::Clock* clock = &base::Clock::real();
};
/// Of this process.
ServiceSettings service_settings(Duration grace);

/// Calls come on the training thread; all of them are cheap, and none fails.
class Service {
 public:
  explicit Service(const ServiceSettings& settings) : settings_(settings), socket_(settings.socket) {}

  void started(std::int64_t update, std::int64_t total);
  void window(const WindowReport& report);
  /// Something went on: a micro-batch, a batch of an evaluation, a save. At most four times in the watchdog's time.
  void alive();
  void stopping(std::string_view why);

 private:
  void send(std::string_view assignments, std::string_view status);

  ServiceSettings settings_;
  base::ServiceSocket socket_;
  std::int64_t total_ = 0;
  Duration next_status_{}, next_sign_{};
  bool stopping_ = false;
};

}  // namespace holdfast::app
