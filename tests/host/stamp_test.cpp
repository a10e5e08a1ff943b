// Stamps: which ones match, and C112 with real files.
#include "host/stamp.hpp"

#include <doctest/doctest.h>

#include "host/plugin_folder.hpp"

using holdfast::PluginStamp;
using holdfast::host::HostStamp;
using holdfast::host::Origin;
using holdfast::host::require_match;
using holdfast::host::Stamp;
using holdfast::testing::error_of;
using holdfast::testing::PluginFolder;
using holdfast::testing::restamped;
using holdfast::testing::TestHost;

namespace {
std::string compare_torch(const std::string& plugin, const std::string& host) {
  const Stamp stamp{HOLDFAST_ABI, _GLIBCXX_USE_CXX11_ABI, plugin, "x", "1"};
  return error_of([&] { require_match("/p.so", stamp, HostStamp{host}); });
}

/// Names the file that the fixtures' static initialisers write to.
class Mark {
 public:
  explicit Mark(const PluginFolder& folder) : path_(folder.path() + "/mark") {
    ::setenv("HOLDFAST_FIXTURE_MARK", path_.c_str(), 1);
  }
  ~Mark() { ::unsetenv("HOLDFAST_FIXTURE_MARK"); }
  [[nodiscard]] bool left() const { return std::filesystem::exists(path_); }

 private:
  std::string path_;
};
}  // namespace

TEST_CASE("LibTorch versions match up to the build label") {
  CHECK(compare_torch("2.13.0", "2.13.0") == "nothing");
  CHECK(compare_torch("2.13.0", "2.13.0+cpu") == "nothing");
  CHECK(compare_torch("2.13.0+cu130", "2.13.0") == "nothing");
  for (const char* other : {"2.13.1", "2.13.00", "2.13", "2.13.0a0", "2.13.0a0+git1234", "2.1.0", "12.13.0"})
    CHECK(compare_torch(other, "2.13.0") == "80 /p.so: error[plugin.torch_mismatch]: compiled against LibTorch " +
                                                std::string(other) +
                                                ", but this holdfast runs LibTorch 2.13.0\n  hint: rebuild the plugin "
                                                "with LibTorch 2.13.0");
  CHECK(compare_torch("2.14.1", "2.13.0+cpu") ==
        "80 /p.so: error[plugin.torch_mismatch]: compiled against LibTorch 2.14.1, but this holdfast runs LibTorch "
        "2.13.0+cpu\n  hint: rebuild the plugin with LibTorch 2.13.0");
}

TEST_CASE("the other std::string ABI is refused with both sides") {
  const Stamp stamp{HOLDFAST_ABI, 0, "2.13.0", "x", "1"};
  CHECK(error_of([&] { require_match("/p.so", stamp, HostStamp{"2.13.0", HOLDFAST_ABI, 1}); }) ==
        "80 /p.so: error[plugin.cxx11_mismatch]: compiled with _GLIBCXX_USE_CXX11_ABI=0, but this holdfast with "
        "_GLIBCXX_USE_CXX11_ABI=1\n  hint: rebuild the plugin with -D_GLIBCXX_USE_CXX11_ABI=1");
}

TEST_CASE("C112: a plugin of the previous or the next ABI is refused with both numbers and no code of it runs") {
  PluginFolder folder;
  const std::string older = folder.write("older", restamped("good", [](PluginStamp& s) { s.abi = HOLDFAST_ABI - 1; }));
  const std::string newer = folder.write("newer", restamped("good", [](PluginStamp& s) { s.abi = HOLDFAST_ABI + 1; }));
  TestHost test(folder);
  const Mark mark(folder);
  const std::string tail =
      ", but this holdfast has plugin ABI 1\n  hint: rebuild the plugin with the SDK of this "
      "holdfast";
  CHECK(test.find_error("older") == "80 " + older + ": error[plugin.abi_mismatch]: built for plugin ABI 0" + tail);
  CHECK(test.find_error("newer") == "80 " + newer + ": error[plugin.abi_mismatch]: built for plugin ABI 2" + tail);
  CHECK_FALSE(mark.left());
}

TEST_CASE("no static initialiser runs when LibTorch or string ABI differ, or the file is no plugin") {
  PluginFolder folder;
  const std::string other = folder.write("other", restamped("good", [](PluginStamp& s) { s.torch[2] = '9'; }));
  folder.write("strings", restamped("good", [](PluginStamp& s) { s.cxx11_abi = 1 - s.cxx11_abi; }));
  const std::string plain = folder.add("no_note");
  folder.add("good");
  TestHost test(folder);
  const Mark mark(folder);
  CHECK(test.find_error("other") ==
        "80 " + other +
            ": error[plugin.torch_mismatch]: compiled against LibTorch 2.93.0, but this holdfast runs LibTorch "
            "2.13.0\n  hint: rebuild the plugin with LibTorch 2.13.0");
  CHECK(test.find_error("strings").find("error[plugin.cxx11_mismatch]") != std::string::npos);
  CHECK(
      test.find_error("no_note") ==
      "80 " + plain +
          ": error[plugin.no_note]: a shared library, but no holdfast plugin: it has no plugin note\n  hint: a plugin "
          "has HOLDFAST_PLUGIN(\"id\", \"version\", \"summary\") { ... } in exactly one source file");
  CHECK_FALSE(mark.left());
  CHECK(test.find_error("good") == "nothing");
  CHECK(mark.left());  // the mark does tell when code runs
}

TEST_CASE("C112: a description one field shorter, or of another ABI than the note, is called no further") {
  PluginFolder folder;
  const std::string shorter = folder.add("short_struct"), abi = folder.add("code_abi");
  TestHost test(folder);
  const std::string hint = "\n  hint: rebuild the plugin with the SDK of this holdfast";
  CHECK(test.find_error("short_struct") ==
        "80 " + shorter + ": error[plugin.abi_mismatch]: its description has 32 bytes, but this holdfast needs 40" +
            hint);
  CHECK(test.find_error("code_abi") ==
        "80 " + abi +
            ": error[plugin.abi_mismatch]: its code says plugin ABI 2 and its note 1; this holdfast has plugin ABI 1" +
            hint);
}

TEST_CASE("a plugin whose entry is hidden, empty or another plugin's is refused") {
  PluginFolder folder;
  const std::string hidden = folder.add("no_entry"), empty = folder.add("returns_null"), other = folder.add("other_id");
  TestHost test(folder);
  CHECK(test.find_error("no_entry") ==
        "80 " + hidden +
            ": error[plugin.no_entry]: the plugin does not export "
            "holdfast_plugin_query_v1()\n  hint: use HOLDFAST_PLUGIN, and do not hide it");
  CHECK(test.find_error("returns_null") ==
        "80 " + empty + ": error[plugin.no_description]: holdfast_plugin_query_v1() returned nothing");
  CHECK(test.find_error("other_id") ==
        "80 " + other +
            ": error[plugin.damaged_note]: its code describes plugin 'somebody_else', "
            "its note plugin 'other_id'\n  hint: a library holds one plugin: do not link "
            "it with another one");
}

TEST_CASE("C112: of two files of one name the first on the path is used and the other one is reported") {
  PluginFolder first, second;
  const std::string used = first.add("good");
  const std::string shadowed = second.add("good");
  TestHost test({{first.path(), Origin::kEnvironment}, {second.path(), Origin::kRecipe}});
  CHECK(test.find_error("good") == "nothing");
  CHECK(test.find_error("good") == "nothing");
  CHECK(test.notes == std::vector<std::string>{"plugin 'good' is " + used + "; " + shadowed +
                                               " comes later in the search and is not used"});
}
