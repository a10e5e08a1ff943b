// Whether what was written reads back. Private to this folder.
#pragma once

#include <string>

#include "base/folder.hpp"
#include "checkpoint/safetensors.hpp"

namespace holdfast::checkpoint {

/// Reads a file that was written and synced once more, from the disk where the system lets go of its copy. Error 74
/// (reason "checkpoint.read_back") with both sides when it is not what was written.
void verify_written(const base::Folder& folder, const std::string& name, const WrittenFile& written);

}  // namespace holdfast::checkpoint
