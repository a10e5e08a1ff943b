// What a library registers: all of it, or nothing with a reason.
#include <doctest/doctest.h>

#include "host/plugin_folder.hpp"
#include "host/staging.hpp"

using holdfast::Kind;
using holdfast::testing::PluginFolder;
using holdfast::testing::TestHost;

namespace {
/// The error of a fixture that fails at registration, without "80 <path>: ".
std::string refusal(const std::string& name) {
  PluginFolder folder;
  const std::string path = folder.add(name);
  TestHost test(folder);
  const std::string text = test.find_error(name);
  const std::string start = "80 " + path + ": ";
  return text.starts_with(start) ? text.substr(start.size()) : text;
}
}  // namespace

TEST_CASE("C108: a library that registers nothing is refused with that reason") {
  CHECK(refusal("registers_nothing") ==
        "error[plugin.registers_nothing]: the plugin registers no component\n  hint: call registrar.add<Type>(name, "
        "summary) in the body of HOLDFAST_PLUGIN");
}

TEST_CASE("C108: a name registered twice in one library is refused, also when the plugin hides the fault") {
  CHECK(refusal("registers_twice") == "error[plugin.duplicate]: the plugin registers hook 'registers_twice' twice");
  CHECK(refusal("swallows") == "error[plugin.duplicate]: the plugin registers hook 'swallows' twice");
}

TEST_CASE("C108: a name registered by two libraries is an error that names both, and the first one stays") {
  PluginFolder folder;
  const std::string good = folder.add("good"), claims = folder.add("claims_good");
  TestHost test(folder);
  CHECK(test.find_error("good") == "nothing");
  CHECK(test.find_error("claims_good") ==
        "80 " + claims + ": error[plugin.duplicate]: the plugin registers hook 'good', which " + good +
            " registers as well\n  hint: rename one of the two, or remove the file that is not meant");
  CHECK(test.find_error("good") == "nothing");
}

TEST_CASE("a name that no recipe could write and a component without constructor are refused") {
  CHECK(refusal("registers_bad_name") ==
        "error[plugin.bad_name]: the plugin registers hook '../Evil': a name has 1 to 63 characters of a-z, 0-9 and _");
  CHECK(refusal("registers_no_constructor") ==
        "error[plugin.no_constructor]: the plugin registers hook 'registers_no_constructor' without a way to make "
        "it\n  hint: use registrar.add<Type>(name, summary)");
}

TEST_CASE("a plugin that throws while registering is refused with its words") {
  CHECK(refusal("throws_registering") ==
        "error[plugin.registration_failed]: the plugin failed to register: the moon is in the wrong phase");
  CHECK(refusal("throws_int_registering") ==
        "error[plugin.registration_failed]: the plugin failed to register: an "
        "exception that is not a std::exception");
}
