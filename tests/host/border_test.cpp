// C106: type identity across libraries with hidden visibility, loaded apart from each other; and the guard.
#include <doctest/doctest.h>

#include <limits>
#include <new>
#include <stdexcept>
#include <typeinfo>

#include "../fixtures/plugins/odd_failure.hpp"
#include "base/plugin_guard.hpp"
#include "holdfast/hook.hpp"
#include "host/plugin_folder.hpp"

using fixtures::Asker;
using fixtures::Counter;
using fixtures::OddFailure;
using holdfast::Options;
using holdfast::base::guard;
using holdfast::testing::error_of;
using holdfast::testing::PluginFolder;
using holdfast::testing::TestHost;

namespace {
Options throwing(const char* where, const char* how) {
  Options options;
  options.set("constructor", std::string{});
  options.set("window", std::string{});
  options.set(where, std::string{how});
  return options;
}

constexpr const char* kBlame = "\n  hint: this is a fault of the plugin, not of the recipe; report it to its author";

struct ThrowingPlugin {
  ThrowingPlugin() : test((folder.add("throws"), folder)) {}
  PluginFolder folder;
  TestHost test;
};
}  // namespace

TEST_CASE("C106: the host finds a plugin's optional interface by cast, by type name and by extension") {
  PluginFolder folder;
  folder.add("casts");
  TestHost test(folder);
  const auto component = test.create("casts");
  auto* counter = dynamic_cast<Counter*>(component.get());
  REQUIRE(counter);
  CHECK(counter->count() == 1);
  CHECK(static_cast<Counter*>(component->extension("fixtures.counter.v1"))->count() == 2);
  CHECK(component->extension("fixtures.counter.v2") == nullptr);
  const holdfast::Component& base = *component;
  CHECK(dynamic_cast<const holdfast::Hook*>(&base));
  CHECK(dynamic_cast<const Asker*>(&base) == nullptr);
  CHECK(typeid(base) != typeid(holdfast::Hook));
}

TEST_CASE("C106: one plugin finds the optional interface of a component from another plugin, or sees it absent") {
  PluginFolder folder;
  folder.add("casts");
  folder.add("asker");
  folder.add("good");
  TestHost test(folder);
  const auto asker = test.create("asker"), casts = test.create("casts");
  Options options;
  options.set("answer", std::int64_t{1});
  const auto good = test.create("good", options);
  CHECK(dynamic_cast<Asker&>(*asker).ask(*casts) == 1);
  CHECK(dynamic_cast<Asker&>(*asker).ask(*good) == -1);
}

TEST_CASE_FIXTURE(ThrowingPlugin, "C106: exception types keep their identity across the border") {
  const auto thrown = [&](const char* how) { (void)test.create("throws", throwing("constructor", how)); };
  CHECK_THROWS_AS(thrown("bad_alloc"), std::bad_alloc);
  const auto hook = test.create("throws", throwing("window", "odd"));
  holdfast::Requests requests;
  CHECK_THROWS_AS(dynamic_cast<holdfast::Hook&>(*hook).window_end({}, requests), OddFailure);
  CHECK(error_of([&] { thrown("error"); }) == "65 tea: error[data.cold]: the tea is cold");
}

TEST_CASE_FIXTURE(ThrowingPlugin, "the guard names plugin and call") {
  const auto made = [&](const char* how) {
    return error_of([&] { (void)test.create("throws", throwing("constructor", how)); });
  };
  CHECK(made("runtime_error") ==
        std::string("70 error[plugin.threw]: plugin 'throws': construction threw: the tea is cold") + kBlame);
  CHECK(made("odd") == std::string("70 error[plugin.threw]: plugin 'throws': construction threw: odd tea") + kBlame);
  CHECK(made("int") == std::string("70 error[plugin.threw]: plugin 'throws': construction threw: something that is no "
                                   "std::exception (i)") +
                           kBlame);
  CHECK(made("") == "nothing");
}

TEST_CASE_FIXTURE(ThrowingPlugin, "the guard lets through what its caller names, and Error and bad_alloc always") {
  const auto end_window = [&](const char* how, auto through) {
    const auto hook = test.create("throws", throwing("window", how));
    through([&] {
      holdfast::Requests requests;
      dynamic_cast<holdfast::Hook&>(*hook).window_end({}, requests);
    });
  };
  const auto passing = [](auto&& call) { guard<OddFailure, std::out_of_range>("throws", "window_end", call); };
  const auto strict = [](auto&& call) { guard("throws", "window_end", call); };
  CHECK_THROWS_AS(end_window("odd", passing), OddFailure);
  CHECK_THROWS_AS(end_window("bad_alloc", strict), std::bad_alloc);
  CHECK(error_of([&] { end_window("error", strict); }) == "65 tea: error[data.cold]: the tea is cold");
  CHECK(error_of([&] { end_window("odd", strict); }) ==
        std::string("70 error[plugin.threw]: plugin 'throws': window_end threw: odd tea") + kBlame);
  CHECK(error_of([&] { end_window("runtime_error", passing); }) ==
        std::string("70 error[plugin.threw]: plugin 'throws': window_end threw: the tea is cold") + kBlame);
}

TEST_CASE("the guard returns what the call returns, a reference as a reference, and cuts LibTorch's backtrace") {
  int value = 3;
  CHECK(&guard("x", "f", [&]() -> int& { return value; }) == &value);
  CHECK(guard("x", "f", [] { return std::make_unique<int>(4); }) != nullptr);
  CHECK(error_of([] {
          guard("x", "forward", [] {
            throw std::runtime_error(
                "sizes differ\nException raised from check at a.cpp:3 (most recent call first):\n");
          });
        }) == std::string("70 error[plugin.threw]: plugin 'x': forward threw: sizes differ") + kBlame);
}
