// Finding, loading, registering, making: the host with real libraries.
#include "host/host.hpp"

#include <doctest/doctest.h>

#include "holdfast/hook.hpp"
#include "host/plugin_folder.hpp"

using holdfast::Kind;
using holdfast::Options;
using holdfast::host::Origin;
using holdfast::host::PluginReport;
using holdfast::testing::error_of;
using holdfast::testing::PluginFolder;
using holdfast::testing::TestHost;

TEST_CASE("a plugin is found by name, gives its options and makes its component") {
  PluginFolder folder;
  folder.add("good");
  TestHost test(folder);
  const auto& info = test.host.find(Kind::kHook, "good");
  CHECK(info.summary == "tells the answer");
  REQUIRE(info.options.find("answer"));
  CHECK(info.options.find("answer")->help == "what state() tells");
  Options options;
  options.set("answer", std::int64_t{17});
  const auto component = test.create("good", options);
  CHECK(dynamic_cast<holdfast::Hook&>(*component).state() == "17");
  CHECK(&test.host.find(Kind::kHook, "good") == &info);
  CHECK(test.notes.empty());
}
