// As much of RFC 3986 as keeps a typing error from becoming a surprise at the end of a night.
#include "base/url.hpp"

#include <algorithm>
#include <charconv>

namespace holdfast::base {
namespace {

constexpr int kLargestPort = 65535;

std::string port_problem(std::string_view port) {
  int number = 0;
  const auto read = std::from_chars(port.data(), port.data() + port.size(), number);
  if (read.ec != std::errc{} || read.ptr != port.data() + port.size()) return "has a port that is no number";
  return number < 1 || number > kLargestPort ? "has a port outside of 1 to 65535" : "";
}

}  // namespace

std::string url_problem(std::string_view url) {
  const auto scheme = url.find("://");
  const std::string_view name = url.substr(0, std::min(scheme, url.size()));
  if (scheme == std::string_view::npos || (name != "http" && name != "https"))
    return "does not begin with http:// or https://";
  const auto is_plain = [](unsigned char c) {
    return c > ' ' && c < 0x7F && c != '"' && c != '<' && c != '>' && c != '\\';
  };
  if (!std::all_of(url.begin(), url.end(), is_plain)) return "holds a character that URLs write in another way";
  if (url.find_first_of("?#") != std::string_view::npos) return "has a query or a fragment";
  std::string_view rest = url.substr(scheme + 3);
  std::string_view host = rest.substr(0, std::min(rest.find('/'), rest.size()));
  if (host.find('@') != std::string_view::npos) return "has a user name";
  const auto bracket = host.starts_with('[') ? host.find(']') : 0;
  if (bracket == std::string_view::npos) return "has an address without its closing bracket";
  const auto colon = host.find(':', bracket);
  const std::string_view machine = host.substr(0, std::min(colon, host.size()));
  if (machine.empty() || machine == "[]") return "has no host";
  return colon == std::string_view::npos ? "" : port_problem(host.substr(colon + 1));
}

}  // namespace holdfast::base
