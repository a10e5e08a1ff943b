// Files and links that are either the old one or the new one, whatever instant the machine dies.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/folder.hpp"

namespace holdfast::base {

/// Writes `name` in `folder`: a new file beside it (".NAME.tmp-PID-RANDOM"), fsync, rename over, fsync of the folder.
/// A link of that name is replaced, not followed. Throws io_error()s; the old file then stays and the temporary is
/// gone.
void write_file_atomic(const Folder& folder, const std::string& name, std::string_view text, mode_t mode = 0644);
/// The same by path; the folder must exist.
void write_file_atomic(const std::string& path, std::string_view text, mode_t mode = 0644,
                       FileSystem& system = FileSystem::real());

/// Makes `name` a symbolic link to `target` (relative: a bare name), replacing a link or file in one step. A folder of
/// that name is io_error EISDIR.
void write_link_atomic(const Folder& folder, const std::string& name, const std::string& target);

/// Reads a regular file whole, following links in `path` as the user gave it. Error 66 when absent, not a regular file
/// or larger than `limit`.
std::string read_file(const std::string& path, std::size_t limit);

}  // namespace holdfast::base
