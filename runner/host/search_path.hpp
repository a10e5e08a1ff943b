// Where plugins are looked for, and in which order. Opens no plugin.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::host {

/// Who named a folder. The order of the enumerators is the order of the search.
enum class Origin { kBuiltIn, kCommandLine, kEnvironment, kRecipe };

/// "built-in", "--plugin-dir", "HOLDFAST_PLUGIN_PATH", "[plugins] search".
std::string_view origin_name(Origin origin);

struct SearchFolder {
  std::string path;  ///< absolute
  Origin origin = Origin::kBuiltIn;
};

/// A file libholdfast_NAME.so in one of the folders.
struct Candidate {
  std::string name, path;
  Origin origin = Origin::kBuiltIn;
};

/// HOLDFAST_PLUGIN_PATH: folders between colons; empty parts are left out, relative ones start at `working_folder`.
std::vector<SearchFolder> split_path_list(std::string_view list, const std::string& working_folder);

/// Folders in the order of the search: by origin, then as given; a folder that comes again is left out.
std::vector<SearchFolder> in_search_order(std::vector<SearchFolder> folders);

/// The files for `name` in all folders, in order: the first one is used, the rest are shadowed. Anything of that file
/// name counts, also a folder or a FIFO: opening it says what it is.
std::vector<Candidate> find_candidates(const std::vector<SearchFolder>& folders, std::string_view name);

/// Every plugin file of all folders, in order of folder, then name.
std::vector<Candidate> all_candidates(const std::vector<SearchFolder>& folders);

/// The sentence about a plugin that is nowhere: folders searched, nearest and available names.
/// Error 80 [plugin.not_found].
[[noreturn]] void throw_not_found(const std::vector<SearchFolder>& folders, std::string_view name);

}  // namespace holdfast::host
