#include "base/plugin_guard.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace holdfast::base;

TEST_CASE("the running plugin call is known inside a guarded call, nested, and after an exception") {
  CHECK(running_plugin_call().plugin.empty());
  guard("outer", "forward", [] {
    CHECK(running_plugin_call().plugin == "outer");
    guard("inner", "read", [] { CHECK(running_plugin_call().call == "read"); });
    CHECK(running_plugin_call().call == "forward");
    CHECK_THROWS(guard("thrower", "loss", [] { throw std::runtime_error("x"); }));
    CHECK(running_plugin_call().plugin == "outer");
  });
  CHECK(running_plugin_call().plugin.empty());
}
