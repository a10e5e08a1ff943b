// Addresses go through inet_pton and back, so one address has one spelling.
#include "base/listen_address.hpp"

#include <arpa/inet.h>

#include <array>
#include <charconv>

namespace holdfast::base {
namespace {

constexpr int kLargestPort = 65535;

/// The system's own spelling of a numeric address; none when it is none.
std::optional<std::string> canonical(int family, const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (inet_pton(family, host.c_str(), bytes.data()) != 1) return std::nullopt;
  return inet_ntop(family, bytes.data(), text.data(), text.size());
}

ParsedListenAddress refused(std::string problem) { return {std::nullopt, std::move(problem)}; }

}  // namespace

bool ListenAddress::is_loopback() const { return host == "::1" || host.starts_with("127."); }

std::string ListenAddress::text() const { return (is_ipv6() ? "[" + host + "]" : host) + ":" + std::to_string(port); }

ParsedListenAddress parse_listen_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || text.back() == ']') return refused("has no port");
  const std::string_view digits = text.substr(colon + 1);
  std::string host(text.substr(0, colon));
  ListenAddress address;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
  if (digits.empty() || digits.front() == '-' || failure == std::errc::invalid_argument || end != text.end())
    return refused("has a port that is no number");
  if (failure != std::errc{} || address.port > kLargestPort) return refused("has a port above 65535");
  if (host.empty()) return {address, {}};
  if (host.find('\0') != std::string::npos) return refused("names no address of this form");
  if (host == "localhost") host = "127.0.0.1";
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (!brackets && host.find(':') != std::string::npos) return refused("has an IPv6 address without brackets");
  const auto found = brackets ? canonical(AF_INET6, host.substr(1, host.size() - 2)) : canonical(AF_INET, host);
  if (!found) return refused("names no address of this form");
  address.host = *found;
  return {address, {}};
}

}  // namespace holdfast::base
