// May code from this place be run on the word of a recipe? Folders and files named by the caller are not asked about.
#pragma once

#include <sys/types.h>

#include <string>

namespace holdfast::host {

class PluginFile;

/// Throws Error 77 [plugin.untrusted] unless the folder is owned by root or `caller` and not writable by group or
/// others, and so is every folder above it (there, the sticky bit is enough: others can then not replace an entry).
/// `folder` must be canonical, so that no link on the way belongs to somebody else. An absent folder passes.
void require_trusted_folder(const std::string& folder, uid_t caller);

/// The same for an opened plugin file, asked of the descriptor, and for the folders of its path.
/// Together with the folder rule nobody but root and the caller can replace the file between this check and its load;
/// the path is compared once more (PluginFile::require_same) right before the load.
void require_trusted_file(const PluginFile& file, uid_t caller);

}  // namespace holdfast::host
