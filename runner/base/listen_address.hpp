// "ADDRESS:PORT" of a server, as users write it. Pure text: opens nothing and asks no name server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::base {

struct ListenAddress {
  std::string host;  ///< "127.0.0.1" or "::1", as the system writes it; empty: every address of the machine
  int port = 0;      ///< 0: the system chooses

  [[nodiscard]] bool is_ipv6() const { return host.find(':') != std::string::npos; }
  /// Whether only this machine can reach it.
  [[nodiscard]] bool is_loopback() const;
  /// "127.0.0.1:9464", "[::1]:9464", ":9464".
  [[nodiscard]] std::string text() const;
};

struct ParsedListenAddress {
  std::optional<ListenAddress> address;
  std::string problem;  ///< what is wrong, to follow the quoted text: "has no port"; empty when it was read
};

/// Reads "127.0.0.1:9464", "[::1]:9464", "localhost:9464" (127.0.0.1) or ":9464" (every address). Other names are
/// refused: what they stand for may change.
ParsedListenAddress parse_listen_address(std::string_view text);

}  // namespace holdfast::base
