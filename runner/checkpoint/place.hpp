// What the file system of a run home can do beside writing files, found out by trying, and how to do without. Object
// stores and some network file systems mounted as folders have no links or cannot rename a folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/folder.hpp"

namespace holdfast::checkpoint {

struct Abilities {
  bool links = true;  ///< without: `current` and `latest` are files that hold a name
  bool folder_renames =
      true;  ///< without: a checkpoint is made under its final name and counts once its manifest stands
};

/// Tries both in `folder` and leaves nothing there. Error 73/74/77 where even files cannot be made.
Abilities try_out(const base::Folder& folder);
/// One sentence for each thing that is missing, with what is done instead.
std::vector<std::string> shortcomings(const Abilities& abilities);

/// Makes `name` lead to `target` (a bare name), in one step.
void write_pointer(const base::Folder& folder, const std::string& name, const std::string& target,
                   const Abilities& abilities);
/// Where it leads: the target of a link, or the only line of a small file. None when it is neither.
std::optional<std::string> read_pointer(const base::Folder& folder, const std::string& name);

}  // namespace holdfast::checkpoint
