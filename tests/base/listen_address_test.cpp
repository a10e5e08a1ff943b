// Addresses of servers as users write them.
#include "base/listen_address.hpp"

#include <doctest/doctest.h>

using namespace holdfast::base;

namespace {

std::string read(std::string_view text) {
  const auto parsed = parse_listen_address(text);
  return parsed.address ? parsed.address->text() : parsed.problem;
}

}  // namespace

TEST_CASE("an address and a port are read and written back in one spelling") {
  CHECK(read("127.0.0.1:9464") == "127.0.0.1:9464");
  CHECK(read("[::1]:0") == "[::1]:0");
  CHECK(read("[0:0:0:0:0:0:0:1]:80") == "[::1]:80");
  CHECK(read("localhost:65535") == "127.0.0.1:65535");
  CHECK(read(":9464") == ":9464");
  CHECK(read("0.0.0.0:1") == "0.0.0.0:1");
}

TEST_CASE("C94: an address that cannot be one is refused with the reason") {
  CHECK(read("") == "has no port");
  CHECK(read("127.0.0.1") == "has no port");
  CHECK(read("[::1]") == "has no port");
  CHECK(read("127.0.0.1:") == "has a port that is no number");
  CHECK(read("127.0.0.1:http") == "has a port that is no number");
  CHECK(read("127.0.0.1:-1") == "has a port that is no number");
  CHECK(read("127.0.0.1:80x") == "has a port that is no number");
  CHECK(read("127.0.0.1: 80") == "has a port that is no number");
  CHECK(read("127.0.0.1:70000") == "has a port above 65535");
  CHECK(read("127.0.0.1:99999999999999999999") == "has a port above 65535");
  CHECK(read("::1:9464") == "has an IPv6 address without brackets");
  CHECK(read("[]:9464") == "names no address of this form");
  CHECK(read("[127.0.0.1]:9464") == "names no address of this form");
  CHECK(read("256.0.0.1:9464") == "names no address of this form");
  CHECK(read("example.org:9464") == "names no address of this form");
  CHECK(read(std::string("127.0.0.1\0x:9464", 16)) == "names no address of this form");
}

TEST_CASE("loopback is told from what others can reach") {
  CHECK(parse_listen_address("127.9.9.9:1").address->is_loopback());
  CHECK(parse_listen_address("[::1]:1").address->is_loopback());
  CHECK_FALSE(parse_listen_address(":1").address->is_loopback());
  CHECK_FALSE(parse_listen_address("10.0.0.1:1").address->is_loopback());
  CHECK_FALSE(parse_listen_address("[::]:1").address->is_loopback());
}
