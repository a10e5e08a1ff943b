// Finding, listing, checking, making: the host with real libraries.
#include "host/host.hpp"

#include <doctest/doctest.h>

#include "holdfast/hook.hpp"
#include "host/plugin_folder.hpp"

using holdfast::Kind;
using holdfast::Options;
using holdfast::host::Origin;
using holdfast::host::PluginReport;
using holdfast::testing::error_of;
using holdfast::testing::fixture;
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

TEST_CASE("a file that registers other components than its name says what it registers") {
  PluginFolder folder;
  const std::string good = folder.add("good"), misnamed = folder.add("misnamed");
  TestHost test(folder);
  const std::string hint =
      "\n  hint: plugin = \"NAME\" opens libholdfast_NAME.so and takes the component of that name and kind from it";
  CHECK(test.find_error("misnamed") == "80 " + misnamed +
                                           ": error[plugin.no_component]: the plugin registers no hook 'misnamed'; it "
                                           "registers: hook 'one', hook 'two'" +
                                           hint);
  CHECK(test.find_error("good", Kind::kModel) ==
        "80 " + good + ": error[plugin.no_component]: the plugin registers no model 'good'; it registers: hook 'good'" +
            hint);
}

TEST_CASE("names that could leave a folder are refused before any file is looked at") {
  TestHost test(std::vector<holdfast::host::SearchFolder>{});
  const std::string tail = "' is no plugin name: a name has 1 to 63 characters of a-z, 0-9 and _";
  for (const char* name : {"", "..", "../good", "a/b", "Good", "good.so", "go od", "g\xc3\xa9"})
    CHECK(test.find_error(name) == "80 error[plugin.bad_name]: '" + std::string(name) + tail);
  CHECK(test.find_error("a\nb") == "80 error[plugin.bad_name]: 'a\\nb" + tail);
  CHECK(test.find_error(std::string(64, 'a')) == "80 error[plugin.bad_name]: '" + std::string(64, 'a') + tail);
  CHECK(test.find_error(std::string(63, 'a')).starts_with("80 error[plugin.not_found]"));
}

TEST_CASE("the list tells good, refused and shadowed files apart") {
  PluginFolder first, second;
  const std::string good = first.add("good"), text = first.write("text", "#!/bin/sh\n");
  const std::string shadowed = second.add("good"), other = second.add("casts");
  second.write("Bad-Name", "");
  TestHost test({{second.path(), Origin::kCommandLine}, {first.path(), Origin::kBuiltIn}});
  const auto reports = test.host.list();
  REQUIRE(reports.size() == 5);
  CHECK(reports[0].path == good);
  CHECK(reports[0].status == PluginReport::Status::kOk);
  REQUIRE(reports[0].library);
  CHECK(reports[0].library->contents() == "hook 'good'");
  CHECK(reports[0].stamp->version == "1.2.3");
  CHECK(reports[1].path == text);
  CHECK(reports[1].status == PluginReport::Status::kRefused);
  CHECK(reports[1].error->code() == holdfast::ExitCode::kPlugin);
  CHECK(reports[1].reason == text + ": error[plugin.not_elf]: not a shared library: it begins with '#!/bin/sh\\n'");
  CHECK(reports[2].name == "Bad-Name");
  CHECK(reports[2].reason ==
        "error[plugin.bad_name]: 'Bad-Name' is no plugin name: a name has 1 to 63 characters of "
        "a-z, 0-9 and _");
  CHECK(reports[3].path == other);
  CHECK(reports[3].origin == Origin::kCommandLine);
  CHECK(reports[4].path == shadowed);
  CHECK(reports[4].status == PluginReport::Status::kShadowed);
  CHECK(reports[4].reason == "shadowed by " + good);
  CHECK(test.host.available() == std::vector<std::string>{"casts", "good", "text"});
}

TEST_CASE("a checked file is reported with its stamp and components, and joins nothing") {
  PluginFolder folder;
  const std::string good = folder.add("good");
  TestHost test(std::vector<holdfast::host::SearchFolder>{});
  const PluginReport report = test.host.check(good);
  CHECK(report.status == PluginReport::Status::kOk);
  CHECK(report.name == "good");
  CHECK(report.stamp->torch == "2.13.0");
  REQUIRE(report.library);
  CHECK(report.library->summary == "a plugin without fault");
  CHECK(report.library->components.size() == 1);
  CHECK(test.find_error("good").starts_with("80 error[plugin.not_found]"));
}

TEST_CASE("a refused file is reported with the reason, and its stamp where that can be read") {
  PluginFolder folder;
  const std::string absent = folder.file("absent");
  const std::string other = folder.write("other", holdfast::testing::restamped("good", [](auto& s) { s.abi = 9; }));
  TestHost test(std::vector<holdfast::host::SearchFolder>{});
  CHECK(test.host.check(absent).reason == absent + ": error[plugin.absent]: there is no such file");
  const PluginReport report = test.host.check(other);
  CHECK(report.status == PluginReport::Status::kRefused);
  CHECK(report.error->code() == holdfast::ExitCode::kPlugin);
  REQUIRE(report.stamp);
  CHECK(report.stamp->abi == 9);
  CHECK_FALSE(report.library);
}

TEST_CASE("a plugin stripped, optimised at link time and with unused sections removed is still a plugin") {
  PluginFolder folder;
  folder.add("packed");
  TestHost test(folder);
  CHECK(test.find_error("packed") == "nothing");
}

TEST_CASE("one plugin is reported by name without opening any other file") {
  PluginFolder folder;
  const std::string good = folder.add("good");
  folder.add("lively");  // starts a thread when it is loaded
  TestHost test(folder);
  const PluginReport report = test.host.report("good");
  CHECK(report.path == good);
  CHECK(report.library);
  std::ifstream maps("/proc/self/maps");
  const std::string mapped{std::istreambuf_iterator<char>(maps), {}};
  CHECK(mapped.find(good) != std::string::npos);
  CHECK(mapped.find(folder.file("lively")) == std::string::npos);
  CHECK(error_of([&] { (void)test.host.report("goood"); }).find("did you mean 'good'?") != std::string::npos);
}
