// Addresses as literals only: a name could lead anywhere.
#include "local_url.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace holdfast::plugins {
namespace {

constexpr std::string_view kScheme = "http://";

bool is_local_v4(const std::string& host) {
  in_addr address{};
  if (inet_pton(AF_INET, host.c_str(), &address) != 1) return false;
  const std::uint32_t bits = ntohl(address.s_addr);
  return bits >> 24 == 127 || bits >> 16 == (169U << 8 | 254U);
}

bool is_local_v6(const std::string& host) {
  in6_addr address{};
  if (inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &address) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_LINKLOCAL(&address);
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_local(std::string_view authority) {
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == std::string_view::npos) return false;
    const std::string_view rest = authority.substr(end + 1);
    if (!rest.empty() && !(rest.front() == ':' && is_port(rest.substr(1)))) return false;
    return is_local_v6(std::string(authority.substr(1, end - 1)));
  }
  const auto colon = authority.find(':');
  if (colon != std::string_view::npos && !is_port(authority.substr(colon + 1))) return false;
  const std::string host(authority.substr(0, colon));
  return host == "localhost" || is_local_v4(host);
}

}  // namespace

std::string local_url_fault(std::string_view url) {
  if (!url.starts_with(kScheme)) return "it must begin with http://";
  if (std::any_of(url.begin(), url.end(), [](unsigned char c) { return c <= ' ' || c == 0x7F || c == '\\'; }))
    return "it has a space, a backslash or a control character";
  const std::string_view rest = url.substr(kScheme.size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.find('@') != std::string_view::npos) return "it must not have a user";
  if (!is_local(authority))
    return "its host must be localhost, a loopback address or a link-local one (169.254.0.0/16, fe80::/10)";
  return {};
}

std::string shown_url(std::string_view url) { return std::string(url.substr(0, url.find_first_of("?#"))); }

}  // namespace holdfast::plugins
