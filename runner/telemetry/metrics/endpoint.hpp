// GET /metrics over HTTP on a thread of its own. Knows neither metrics nor runs: it serves what a function gives. Owner
// of libmicrohttpd, which no header shows.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/listen_address.hpp"

namespace holdfast::telemetry {

/// Serves GET and HEAD of /metrics and of / (one line that points there); anything else is 404 or 405. One thread, with
/// all signals blocked; at most 128 clients at a time, each with 16 KiB for its request (431 beyond) and 5 s of
/// silence, so clients that stall cost a descriptor each and delay nobody. Sockets are closed on exec.
class Endpoint {
 public:
  /// Binds and listens. Null when that cannot be; `problem` then has the system's words ("Address already in use").
  /// `text` is called on the endpoint's thread; what it throws becomes a 500.
  static std::unique_ptr<Endpoint> open(const base::ListenAddress& address, std::function<std::string()> text,
                                        std::string& problem);
  /// Ends the thread, cutting off clients; milliseconds.
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  /// With the port that the system chose where 0 was asked for.
  [[nodiscard]] const base::ListenAddress& address() const;
  /// "http://127.0.0.1:9464/metrics"; the loopback address where every address was asked for.
  [[nodiscard]] std::string url() const;

 private:
  struct Impl;
  explicit Endpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::telemetry
