// Ownership and write permission of recipe search folders and the files in them.
#include "host/trust.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "holdfast/error.hpp"
#include "host/plugin_file.hpp"

namespace holdfast::host {

namespace {
constexpr const char* kHint =
    "a recipe may only name plugin folders that nobody else can change; chown or chmod go-w it, or name the folder "
    "yourself with --plugin-dir";

void require_trusted(const std::string& named, const std::string& path, const struct stat& status, uid_t caller,
                     bool sticky_is_enough) {
  const std::string subject = named == path ? "" : "its folder " + path + " is ";
  if (status.st_uid != 0 && status.st_uid != caller)
    throw Error(ExitCode::kPermission, "plugin.untrusted", named,
                "the recipe's [plugins] search leads here, but " + (subject.empty() ? "it is " : subject) +
                    "owned by user " + std::to_string(status.st_uid) + ", not by root or user " +
                    std::to_string(caller),
                kHint);
  const bool open = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (open && !(sticky_is_enough && (status.st_mode & S_ISVTX) != 0))
    throw Error(ExitCode::kPermission, "plugin.untrusted", named,
                "the recipe's [plugins] search leads here, but " + (subject.empty() ? "it is " : subject) +
                    "writable by " + ((status.st_mode & S_IWOTH) != 0 ? "everybody" : "its group"),
                kHint);
}

void require_trusted_folders(const std::string& named, const std::filesystem::path& folder, uid_t caller) {
  for (std::filesystem::path at = folder;; at = at.parent_path()) {
    struct stat status {};
    if (::stat(at.c_str(), &status) == 0)
      require_trusted(named, at.string(), status, caller, at != folder);
    else if (errno != ENOENT)
      throw Error(ExitCode::kPermission, "plugin.untrusted", named,
                  "the recipe's [plugins] search leads here, but it cannot be checked: " +
                      std::generic_category().message(errno));
    if (at == at.root_path()) return;
  }
}
}  // namespace

void require_trusted_folder(const std::string& folder, uid_t caller) {
  require_trusted_folders(folder, folder, caller);
}

void require_trusted_file(const PluginFile& file, uid_t caller) {
  require_trusted(file.path(), file.path(), file.status(), caller, false);
  require_trusted_folders(file.path(), std::filesystem::path(file.path()).parent_path(), caller);
}

}  // namespace holdfast::host
