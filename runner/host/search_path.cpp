// The search for plugin files.
#include "host/search_path.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text.hpp"
#include "holdfast/error.hpp"
#include "host/component_name.hpp"

namespace holdfast::host {

namespace fs = std::filesystem;

std::string_view origin_name(Origin origin) {
  switch (origin) {
    case Origin::kBuiltIn:
      return "built-in";
    case Origin::kCommandLine:
      return "--plugin-dir";
    case Origin::kEnvironment:
      return "HOLDFAST_PLUGIN_PATH";
    case Origin::kRecipe:
      return "[plugins] search";
  }
  return "";
}

std::vector<SearchFolder> split_path_list(std::string_view list, const std::string& working_folder) {
  std::vector<SearchFolder> folders;
  while (!list.empty()) {
    const std::size_t colon = std::min(list.find(':'), list.size());
    if (colon > 0)
      folders.push_back(
          {(fs::path(working_folder) / list.substr(0, colon)).lexically_normal().string(), Origin::kEnvironment});
    list.remove_prefix(std::min(colon + 1, list.size()));
  }
  return folders;
}

std::vector<SearchFolder> in_search_order(std::vector<SearchFolder> folders) {
  std::stable_sort(folders.begin(), folders.end(),
                   [](const SearchFolder& a, const SearchFolder& b) { return a.origin < b.origin; });
  std::vector<SearchFolder> kept;
  for (SearchFolder& folder : folders) {
    std::error_code ignored;  // an absent folder is its own canonical form
    fs::path path = fs::weakly_canonical(folder.path, ignored);
    if (!path.empty()) folder.path = path.string();
    const bool known =
        std::any_of(kept.begin(), kept.end(), [&](const SearchFolder& other) { return other.path == folder.path; });
    if (!known) kept.push_back(std::move(folder));
  }
  return kept;
}

std::vector<Candidate> find_candidates(const std::vector<SearchFolder>& folders, std::string_view name) {
  std::vector<Candidate> found;
  for (const SearchFolder& folder : folders) {
    const fs::path path = fs::path(folder.path) / plugin_file_name(name);
    std::error_code unreadable;
    // A file that cannot be looked at is a candidate too: opening it gives the reason.
    if (fs::symlink_status(path, unreadable).type() != fs::file_type::not_found)
      found.push_back({std::string(name), path.string(), folder.origin});
  }
  return found;
}

std::vector<Candidate> all_candidates(const std::vector<SearchFolder>& folders) {
  std::vector<Candidate> found;
  for (const SearchFolder& folder : folders) {
    const auto begin = static_cast<std::ptrdiff_t>(found.size());
    std::error_code stop;  // a folder that is absent or unreadable holds no plugin
    for (fs::directory_iterator at(folder.path, stop), end; !stop && at != end; at.increment(stop))
      if (std::string name = component_of_file(at->path().filename().string()); !name.empty())
        found.push_back({std::move(name), at->path().string(), folder.origin});
    std::sort(found.begin() + begin, found.end(),
              [](const Candidate& a, const Candidate& b) { return a.name < b.name; });
  }
  return found;
}

void throw_not_found(const std::vector<SearchFolder>& folders, std::string_view name) {
  std::string where;
  for (const SearchFolder& folder : folders) {
    std::error_code failed;
    const bool usable = fs::directory_iterator(folder.path, failed) != fs::directory_iterator{} || !failed;
    where += "\n    " + folder.path + " (" + std::string(origin_name(folder.origin)) +
             (usable ? ")" : "; " + failed.message() + ")");
  }
  std::vector<std::string> names;
  for (const Candidate& candidate : all_candidates(folders)) names.push_back(candidate.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string hint;
  if (const auto nearest = base::nearest_name(name, names)) hint = "did you mean '" + *nearest + "'? ";
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  hint += list.empty() ? "no plugin is in these folders" : "available: " + list;
  throw Error(ExitCode::kPlugin, "plugin.not_found", "",
              "there is no plugin '" + std::string(name) + "': no " + plugin_file_name(name) +
                  (folders.empty() ? ", and no folder to look in" : " in" + where),
              hint + "; --plugin-dir DIR adds a folder");
}

}  // namespace holdfast::host
