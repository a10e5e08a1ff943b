// The order of the search, and names.
#include "host/search_path.hpp"

#include <doctest/doctest.h>

#include "host/component_name.hpp"
#include "host/plugin_folder.hpp"

using holdfast::host::find_candidates;
using holdfast::host::in_search_order;
using holdfast::host::Origin;
using holdfast::host::SearchFolder;
using holdfast::host::split_path_list;
using holdfast::testing::PluginFolder;

namespace {
std::vector<std::string> paths(const std::vector<SearchFolder>& folders) {
  std::vector<std::string> out;
  for (const SearchFolder& folder : folders) out.push_back(folder.path);
  return out;
}
}  // namespace

TEST_CASE("folders are searched by who named them: built-in, command line, environment, recipe") {
  const auto order = in_search_order({{"/r", Origin::kRecipe},
                                      {"/e2", Origin::kEnvironment},
                                      {"/e1", Origin::kEnvironment},
                                      {"/b", Origin::kBuiltIn},
                                      {"/c", Origin::kCommandLine}});
  CHECK(paths(order) == std::vector<std::string>{"/b", "/c", "/e2", "/e1", "/r"});
}

TEST_CASE("a folder named twice, also through a link, counts once, at its first place") {
  PluginFolder folder;
  std::filesystem::create_directory(folder.path() + "/real");
  std::filesystem::create_symlink("real", folder.path() + "/link");
  const auto order = in_search_order({{folder.path() + "/link", Origin::kRecipe},
                                      {folder.path() + "/./real", Origin::kCommandLine},
                                      {folder.path() + "/absent/../gone", Origin::kCommandLine}});
  CHECK(paths(order) == std::vector<std::string>{folder.path() + "/real", folder.path() + "/gone"});
  CHECK(order[0].origin == Origin::kCommandLine);
}

TEST_CASE("a list of folders is split at colons; empty parts are left out, relative ones start at the given folder") {
  CHECK(split_path_list("", "/w").empty());
  CHECK(split_path_list("::", "/w").empty());
  CHECK(paths(split_path_list(":/a::b/../c:", "/w")) == std::vector<std::string>{"/a", "/w/c"});
  CHECK(split_path_list("/a", "/w")[0].origin == Origin::kEnvironment);
}

TEST_CASE("files of one name come in the order of their folders") {
  PluginFolder first, second;
  const std::string a = first.write("x", ""), b = second.write("x", "");
  first.write("xy", "");
  const auto found = find_candidates({{first.path(), Origin::kBuiltIn}, {second.path(), Origin::kRecipe}}, "x");
  REQUIRE(found.size() == 2);
  CHECK(found[0].path == a);
  CHECK(found[1].path == b);
  CHECK(found[1].origin == Origin::kRecipe);
}

TEST_CASE("plugin file names and component names lead to each other") {
  CHECK(holdfast::host::plugin_file_name("mlp") == "libholdfast_mlp.so");
  CHECK(holdfast::host::component_of_file("libholdfast_mlp.so") == "mlp");
  for (const char* other : {"libholdfast_.so", "libmlp.so", "libholdfast_mlp.so.1", "holdfast_mlp.so", ""})
    CHECK(holdfast::host::component_of_file(other).empty());
}
