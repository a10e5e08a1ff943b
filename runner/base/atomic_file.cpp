// Temporary beside, sync, rename, sync.
#include "base/atomic_file.hpp"

#include <cerrno>
#include <filesystem>

#include "base/io_error.hpp"
#include "base/process.hpp"

namespace holdfast::base {
namespace {

std::string temporary_name(const std::string& name) {
  return "." + name + ".tmp-" + std::to_string(::getpid()) + "-" + random_hex(8);
}

/// Removes the temporary unless it was renamed; errors do not matter on a path that already failed.
class Leftover {
 public:
  Leftover(const Folder& folder, std::string name) : folder_(folder), name_(std::move(name)) {}
  ~Leftover() {
    if (!name_.empty()) folder_.system().unlinkat(folder_.fd(), name_.c_str(), 0);
  }
  Leftover(const Leftover&) = delete;
  Leftover& operator=(const Leftover&) = delete;
  void rename_to(const std::string& name) {
    folder_.rename(name_, name);
    name_.clear();
  }

 private:
  const Folder& folder_;
  std::string name_;
};

}  // namespace

void write_file_atomic(const Folder& folder, const std::string& name, std::string_view text, mode_t mode) {
  const std::string temporary = temporary_name(name);
  const File file = folder.create_file(temporary, mode);
  Leftover leftover(folder, temporary);
  write_all(folder.system(), file, folder.path_of(name), std::as_bytes(std::span(text)));
  sync_file(folder.system(), file, folder.path_of(name));
  leftover.rename_to(name);
  folder.sync();
}

void write_file_atomic(const std::string& path, std::string_view text, mode_t mode, FileSystem& system) {
  const std::filesystem::path absolute = absolute_path(path);
  write_file_atomic(Folder::open(absolute.parent_path().string(), system), absolute.filename().string(), text, mode);
}

void write_link_atomic(const Folder& folder, const std::string& name, const std::string& target) {
  const std::string temporary = temporary_name(name);
  if (folder.system().symlinkat(target.c_str(), folder.fd(), temporary.c_str()) != 0)
    throw io_error(Doing::kCreate, folder.path_of(name), errno);
  Leftover leftover(folder, temporary);
  leftover.rename_to(name);
  folder.sync();
}

std::string read_file(const std::string& path, std::size_t limit) {
  FileSystem& system = FileSystem::real();
  const std::string absolute = absolute_path(path);
  const File file(system.openat(AT_FDCWD, absolute.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0));
  if (file.fd() < 0) throw io_error(Doing::kRead, absolute, errno);
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) throw io_error(Doing::kRead, absolute, errno);
  if (!S_ISREG(info.st_mode))
    throw Error(ExitCode::kMissingInput, "io.not_a_file", absolute, "cannot read: not a regular file",
                "name a file, not a folder, device or pipe");
  if (static_cast<std::uint64_t>(info.st_size) > limit)
    throw Error(ExitCode::kMissingInput, "io.too_big", absolute,
                "cannot read: " + std::to_string(info.st_size) + " bytes, more than the " + std::to_string(limit) +
                    " allowed here",
                "name a smaller file");
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  read_exactly(system, file, absolute, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace holdfast::base
