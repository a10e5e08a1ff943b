// Whose folders a run works in: its own, reached through no link. Private to this folder; knows no contents.
#pragma once

#include <optional>
#include <string>

#include "base/folder.hpp"

namespace holdfast::checkpoint {

/// Error 77 (reason "home.foreign" or "home.world_writable") when `folder` belongs to another user than this process's
/// or everybody may write into it. `what` names it: "run home".
void require_owned(const base::Folder& folder, const std::string& what);

/// The same for the generation `name` of `home`, its checkpoints folder and each checkpoint in there; Error 77 (reason
/// "checkpoint.link") when checkpoints is a link. What is not there is in order.
void require_owned_generation(const base::Folder& home, const std::string& name);

/// The checkpoints folder of the generation at `path`, opened through no link below the folder that holds the
/// generation; none when it is not there. Error 77 (reason "checkpoint.link") when it is a link.
std::optional<base::Folder> open_checkpoints(const std::string& path, base::FileSystem& system);
/// The same, made where it is absent.
base::Folder make_checkpoints(const std::string& path, base::FileSystem& system);

}  // namespace holdfast::checkpoint
