// errno as a sentence with a place, an exit code and a next action.
#pragma once

#include <string>

#include "holdfast/error.hpp"

namespace holdfast::base {

enum class Doing { kRead, kCreate, kWrite };

/// The error of a failed system call on `path` (absolute, or made so from the current folder).
/// Codes: ENOSPC EDQUOT EIO EFBIG EMFILE ENFILE and the like 74; refused permission 77 when creating or writing and 66
/// when reading; EROFS, ENOENT, ENOTDIR, ELOOP and the rest: 66 when reading, 73 when creating, 74 when writing.
Error io_error(Doing doing, const std::string& path, int errno_value);

/// Absolute form of a path: as it is, or below the current folder; "." and ".." are resolved in the text.
std::string absolute_path(const std::string& path);

}  // namespace holdfast::base
