// Looks at names, not at what they lead to.
#include "checkpoint/ownership.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/io_error.hpp"
#include "base/text.hpp"
#include "checkpoint/shelf.hpp"

namespace holdfast::checkpoint {
namespace {

constexpr const char* kCheckpoints = "checkpoints";

void judge(const struct stat& info, const std::string& path, const std::string& what) {
  const std::string where = base::terminal_safe_line(path);
  if (info.st_uid != ::geteuid())
    throw Error(ExitCode::kPermission, "home.foreign", where,
                "the " + what + " belongs to user " + std::to_string(info.st_uid) + ", this process runs as user " +
                    std::to_string(::geteuid()),
                "run as its owner, change its owner, or use --output DIR");
  if ((info.st_mode & S_IWOTH) != 0)
    throw Error(ExitCode::kPermission, "home.world_writable", where,
                "every user of this machine may write into the " + what, "chmod o-w '" + where + "', then run again");
}

/// By its name: a folder of another user may well be closed to this one.
void judge_below(const base::Folder& folder, const std::string& name, const std::string& what) {
  struct stat info {};
  if (::fstatat(folder.fd(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return;
    throw base::io_error(base::Doing::kRead, folder.path_of(name), errno);
  }
  if (S_ISDIR(info.st_mode)) judge(info, folder.path_of(name), what);
}

void refuse_link(const base::Folder& generation) {
  const auto target = generation.link_target(kCheckpoints);
  if (!target) return;
  throw Error(ExitCode::kPermission, "checkpoint.link", generation.path_of(kCheckpoints),
              "the folder of the checkpoints is a link to '" + base::terminal_safe_line(*target) +
                  "'; what lies there need not be this run's",
              "put the folder itself in the place of the link");
}

}  // namespace

void require_owned(const base::Folder& folder, const std::string& what) {
  struct stat info {};
  if (::fstat(folder.fd(), &info) != 0) throw base::io_error(base::Doing::kCreate, folder.path(), errno);
  judge(info, folder.path(), what);
}

void require_owned_generation(const base::Folder& home, const std::string& name) {
  judge_below(home, name, "generation");
  const base::Folder generation = home.open_below(name);
  refuse_link(generation);
  judge_below(generation, kCheckpoints, "folder of checkpoints");
  if (generation.kind_of(kCheckpoints) != base::EntryKind::kFolder) return;
  const base::Folder checkpoints = generation.open_below(kCheckpoints);
  for (const base::Entry& entry : checkpoints.entries())
    if (update_in_name(entry.name)) judge_below(checkpoints, entry.name, "checkpoint");
}

std::optional<base::Folder> open_checkpoints(const std::string& path, base::FileSystem& system) {
  const std::filesystem::path absolute = base::absolute_path(path);
  std::error_code failure;
  const std::string above = absolute.parent_path().string(), name = absolute.filename().string();
  if (std::filesystem::status(above, failure).type() == std::filesystem::file_type::not_found) return std::nullopt;
  const base::Folder home = base::Folder::open(above, system);
  if (!home.kind_of(name)) return std::nullopt;
  const base::Folder generation = home.open_below(name);
  refuse_link(generation);
  if (!generation.kind_of(kCheckpoints)) return std::nullopt;
  return generation.open_below(kCheckpoints);
}

base::Folder make_checkpoints(const std::string& path, base::FileSystem& system) {
  const base::Folder generation = base::Folder::create(path, system);
  refuse_link(generation);
  const bool fresh = !generation.kind_of(kCheckpoints);
  base::Folder checkpoints = generation.make_below(kCheckpoints);
  if (fresh) generation.sync();
  return checkpoints;
}

}  // namespace holdfast::checkpoint
