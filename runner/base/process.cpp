// Host name and kernel randomness.
#include "base/process.hpp"

#include <unistd.h>

#include <array>
#include <random>

namespace holdfast::base {

std::string host_name() {
  std::array<char, 256> name{};
  // The last byte stays zero: POSIX leaves a truncated name unterminated.
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown";
  return name.data();
}

std::string random_hex(int digits) {
  std::random_device device;
  std::string text;
  for (int i = 0; i < digits; ++i) text += "0123456789abcdef"[device() & 15u];
  return text;
}

}  // namespace holdfast::base
