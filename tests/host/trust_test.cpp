// Which folders and files a recipe may name.
#include "host/trust.hpp"

#include <doctest/doctest.h>

#include "host/plugin_file.hpp"
#include "host/plugin_folder.hpp"

using holdfast::host::Origin;
using holdfast::host::require_trusted_folder;
using holdfast::testing::error_of;
using holdfast::testing::PluginFolder;
using holdfast::testing::TestHost;

namespace {
constexpr const char* kHint =
    "\n  hint: a recipe may only name plugin folders that nobody else can change; chown or chmod go-w it, or name the "
    "folder yourself with --plugin-dir";

std::string refused(const std::string& where, const std::string& why) {
  return "77 " + where + ": error[plugin.untrusted]: the recipe's [plugins] search leads here, but " + why + kHint;
}

std::string open_host(const PluginFolder& folder, Origin origin) {
  return error_of([&] { TestHost test({{folder.path(), origin}}); });
}
}  // namespace

TEST_CASE("a recipe's folder of the caller that only the caller can change is used") {
  PluginFolder folder;
  folder.add("good");
  TestHost test({{folder.path(), Origin::kRecipe}});
  CHECK(test.find_error("good") == "nothing");
}

TEST_CASE("a recipe's folder that the group or everybody can change is refused, one named by the caller is not") {
  PluginFolder folder;
  ::chmod(folder.path().c_str(), 0775);
  CHECK(open_host(folder, Origin::kRecipe) == refused(folder.path(), "it is writable by its group"));
  ::chmod(folder.path().c_str(), 01777);  // no sticky bit helps here: others may add files
  CHECK(open_host(folder, Origin::kRecipe) == refused(folder.path(), "it is writable by everybody"));
  CHECK(open_host(folder, Origin::kCommandLine) == "nothing");
  CHECK(open_host(folder, Origin::kEnvironment) == "nothing");
}

TEST_CASE("a folder above that others can change is refused, with the sticky bit it is not") {
  PluginFolder folder;
  const std::string inner = folder.path() + "/inner";
  std::filesystem::create_directory(inner);
  ::chmod(inner.c_str(), 0755);
  CHECK(error_of([&] { require_trusted_folder(inner, ::geteuid()); }) == "nothing");
  ::chmod(folder.path().c_str(), 0777);
  CHECK(error_of([&] { require_trusted_folder(inner, ::geteuid()); }) ==
        refused(inner, "its folder " + folder.path() + " is writable by everybody"));
  ::chmod(folder.path().c_str(), 01777);
  CHECK(error_of([&] { require_trusted_folder(inner, ::geteuid()); }) == "nothing");
}

TEST_CASE("a file in a recipe's folder that others can change is refused") {
  PluginFolder folder;
  const std::string path = folder.add("good");
  ::chmod(path.c_str(), 0666);
  TestHost test({{folder.path(), Origin::kRecipe}});
  CHECK(test.find_error("good") == refused(path, "it is writable by everybody"));
  TestHost own({{folder.path(), Origin::kCommandLine}});
  CHECK(own.find_error("good") == "nothing");
}

TEST_CASE("a link in a recipe's folder is judged by where it leads") {
  PluginFolder folder, other;
  const std::string target = other.add("good");
  ::chmod(other.path().c_str(), 0777);
  std::filesystem::create_symlink(target, folder.file("good"));
  TestHost test({{folder.path(), Origin::kRecipe}});
  CHECK(test.find_error("good") == refused(target, "its folder " + other.path() + " is writable by everybody"));
}

TEST_CASE("a folder of another user is refused") {
  PluginFolder folder;
  // The caller is one who does not own it; root owns everything above.
  const uid_t stranger = ::geteuid() + 1;
  if (::geteuid() == 0) REQUIRE(::chown(folder.path().c_str(), stranger, static_cast<gid_t>(-1)) == 0);
  const uid_t owner = ::geteuid() == 0 ? stranger : ::geteuid();
  const uid_t caller = ::geteuid() == 0 ? 0 : stranger;
  CHECK(error_of([&] { require_trusted_folder(folder.path(), caller); }) ==
        refused(folder.path(),
                "it is owned by user " + std::to_string(owner) + ", not by root or user " + std::to_string(caller)));
  CHECK(error_of([&] { require_trusted_folder(folder.path(), owner); }) == "nothing");
}

TEST_CASE("a file that is replaced between its check and its load is noticed") {
  PluginFolder folder;
  const std::string path = folder.add("good");
  const holdfast::host::PluginFile file(path);
  CHECK(error_of([&] { file.require_same(); }) == "nothing");
  std::filesystem::rename(path, path + ".old");
  folder.add("casts", "good");
  CHECK(error_of([&] { file.require_same(); }) ==
        "80 " + path +
            ": error[plugin.replaced]: the file was replaced while it was being loaded\n  hint: run again once the "
            "installation of the plugin has ended");
}
