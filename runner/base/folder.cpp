// Folder: openat and friends with errors in words.
#include "base/folder.hpp"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/io_error.hpp"

namespace holdfast::base {
namespace {

const char* checked(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    throw Error(ExitCode::kBug, "io.name", "", "'" + name + "' is not the name of a file in a folder");
  return name.c_str();
}

EntryKind kind_of_mode(mode_t mode) {
  return S_ISREG(mode)   ? EntryKind::kFile
         : S_ISDIR(mode) ? EntryKind::kFolder
         : S_ISLNK(mode) ? EntryKind::kLink
                         : EntryKind::kOther;
}

constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

}  // namespace

Folder Folder::open(const std::string& path, FileSystem& system) {
  std::string absolute = absolute_path(path);
  File handle(system.openat(AT_FDCWD, absolute.c_str(), kFolderFlags, 0));
  if (handle.fd() < 0) throw io_error(Doing::kRead, absolute, errno);
  return Folder(std::move(handle), std::move(absolute), system);
}

Folder Folder::create(const std::string& path, FileSystem& system) {
  const std::string absolute = absolute_path(path);
  File handle(system.openat(AT_FDCWD, absolute.c_str(), kFolderFlags, 0));
  if (handle.fd() >= 0) return Folder(std::move(handle), absolute, system);
  if (errno != ENOENT) throw io_error(Doing::kCreate, absolute, errno);
  const std::string parent = std::filesystem::path(absolute).parent_path().string();
  const Folder above = create(parent.empty() ? "/" : parent, system);
  // Somebody else may make it between the two calls: that is as good.
  if (system.mkdirat(AT_FDCWD, absolute.c_str(), 0755) != 0 && errno != EEXIST)
    throw io_error(Doing::kCreate, absolute, errno);
  above.sync();
  File made(system.openat(AT_FDCWD, absolute.c_str(), kFolderFlags, 0));
  if (made.fd() < 0) throw io_error(Doing::kCreate, absolute, errno);
  return Folder(std::move(made), absolute, system);
}

std::string Folder::path_of(std::string_view name) const {
  return path_ == "/" ? "/" + std::string(name) : path_ + "/" + std::string(name);
}

Folder Folder::open_below(const std::string& name) const {
  File handle(system_->openat(fd(), checked(name), kFolderFlags | O_NOFOLLOW, 0));
  if (handle.fd() < 0) throw io_error(Doing::kRead, path_of(name), errno);
  return Folder(std::move(handle), path_of(name), *system_);
}

Folder Folder::make_below(const std::string& name) const {
  if (system_->mkdirat(fd(), checked(name), 0755) != 0 && errno != EEXIST)
    throw io_error(Doing::kCreate, path_of(name), errno);
  File handle(system_->openat(fd(), name.c_str(), kFolderFlags | O_NOFOLLOW, 0));
  if (handle.fd() < 0) throw io_error(Doing::kCreate, path_of(name), errno);
  return Folder(std::move(handle), path_of(name), *system_);
}

std::vector<Entry> Folder::entries() const {
  // A second descriptor: fdopendir takes it over, and readdir would move the position of ours.
  const int copy = ::openat(fd(), ".", kFolderFlags);
  DIR* stream = copy < 0 ? nullptr : ::fdopendir(copy);
  if (stream == nullptr) {
    const int reason = errno;
    if (copy >= 0) ::close(copy);
    throw io_error(Doing::kRead, path_, reason);
  }
  std::vector<Entry> found;
  while (const dirent* item = ::readdir(stream)) {
    const std::string name = item->d_name;
    if (name == "." || name == "..") continue;
    // Gone since readdir: not an entry any more.
    if (const auto kind = kind_of(name)) found.push_back({name, *kind});
  }
  ::closedir(stream);
  std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return found;
}

std::optional<EntryKind> Folder::kind_of(const std::string& name) const {
  struct stat info {};
  if (::fstatat(fd(), checked(name), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::nullopt;
    throw io_error(Doing::kRead, path_of(name), errno);
  }
  return kind_of_mode(info.st_mode);
}

std::optional<std::string> Folder::link_target(const std::string& name) const {
  std::string target(4096, '\0');
  const ssize_t size = ::readlinkat(fd(), checked(name), target.data(), target.size());
  if (size < 0) return std::nullopt;
  target.resize(static_cast<std::size_t>(size));
  return target;
}

OpenFile Folder::open_file(const std::string& name) const {
  // O_NONBLOCK: opening a FIFO without a writer would wait for ever.
  OpenFile opened{File(system_->openat(fd(), checked(name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0)), 0};
  if (opened.file.fd() < 0) throw io_error(Doing::kRead, path_of(name), errno);
  struct stat info {};
  if (::fstat(opened.file.fd(), &info) != 0) throw io_error(Doing::kRead, path_of(name), errno);
  if (!S_ISREG(info.st_mode))
    throw Error(ExitCode::kMissingInput, "io.not_a_file", path_of(name), "cannot read: not a regular file",
                "put the file there, not a folder, device or pipe");
  opened.size = static_cast<std::uint64_t>(info.st_size);
  return opened;
}

std::string Folder::read(const std::string& name, std::size_t limit) const {
  const OpenFile opened = open_file(name);
  if (opened.size > limit)
    throw Error(ExitCode::kMissingInput, "io.too_big", path_of(name),
                "cannot read: " + std::to_string(opened.size) + " bytes, more than the " + std::to_string(limit) +
                    " allowed here",
                "this is not a file that holdfast wrote");
  std::string text(opened.size, '\0');
  read_exactly(*system_, opened.file, path_of(name), std::as_writable_bytes(std::span(text)));
  return text;
}

File open_regular(const std::string& path, int flags, mode_t mode) {
  File file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode));
  struct stat info {};
  if (file.fd() < 0 || ::fstat(file.fd(), &info) != 0) return File();
  if (S_ISREG(info.st_mode)) return file;
  file = File();
  errno = EINVAL;
  return file;
}

File Folder::create_file(const std::string& name, mode_t mode) const {
  File file(system_->openat(fd(), checked(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
  if (file.fd() < 0) throw io_error(Doing::kCreate, path_of(name), errno);
  return file;
}

bool Folder::remove(const std::string& name) const {
  if (system_->unlinkat(fd(), checked(name), 0) == 0) return true;
  if (errno == ENOENT) return false;
  throw io_error(Doing::kWrite, path_of(name), errno);
}

void Folder::remove_tree(const std::string& name) const {
  const auto kind = kind_of(name);
  if (!kind) return;
  if (*kind != EntryKind::kFolder) {
    remove(name);
    return;
  }
  const Folder below = open_below(name);
  for (const Entry& entry : below.entries()) below.remove_tree(entry.name);
  if (system_->unlinkat(fd(), name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT)
    throw io_error(Doing::kWrite, path_of(name), errno);
}

void Folder::rename(const std::string& from, const std::string& to) const {
  if (system_->renameat(fd(), checked(from), fd(), checked(to)) != 0) throw io_error(Doing::kWrite, path_of(to), errno);
}

void Folder::sync() const {
  // Some network file systems know no fsync of folders and say EINVAL; there is nothing else to ask for.
  if (system_->fsync(fd()) != 0 && errno != EINVAL) throw io_error(Doing::kWrite, path_, errno);
}

}  // namespace holdfast::base
