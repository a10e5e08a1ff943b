// Opening and reading plugin files.
#include "host/plugin_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "holdfast/error.hpp"

namespace holdfast::host {

namespace {
std::string reason_of(int number) { return std::generic_category().message(number); }

[[noreturn]] void refuse_open(const std::string& path, int number) {
  if (number == ENOENT || number == ENOTDIR)
    throw Error(ExitCode::kPlugin, "plugin.absent", path, "there is no such file");
  if (number == ENXIO)
    throw Error(ExitCode::kPlugin, "plugin.not_regular", path, "a socket or device, not a shared library");
  throw Error(ExitCode::kPlugin, "plugin.unreadable", path, "the file cannot be read: " + reason_of(number),
              number == EACCES ? "grant this user read access to the file and search access to its folders" : "");
}

const char* type_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "not a regular file";
}
}  // namespace

PluginFile::PluginFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) refuse_open(path_, errno);
  const int failed = ::fstat(descriptor_, &status_) != 0 ? errno : 0;
  if (failed == 0 && S_ISREG(status_.st_mode)) return;
  ::close(descriptor_);
  if (failed != 0) refuse_open(path_, failed);
  throw Error(ExitCode::kPlugin, "plugin.not_regular", path_,
              std::string(type_of(status_.st_mode)) + ", not a shared library");
}

PluginFile::~PluginFile() { ::close(descriptor_); }

bool PluginFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset > size() || into.size() > size() - offset) return false;
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::pread(descriptor_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw Error(ExitCode::kIoError, "plugin.read_failed", path_, "the file cannot be read: " + reason_of(errno));
    if (got == 0) return false;  // it shrank since it was opened
    done += static_cast<std::size_t>(got);
  }
  return true;
}

void PluginFile::require_same() const {
  struct stat now {};
  if (::stat(path_.c_str(), &now) == 0 && now.st_dev == status_.st_dev && now.st_ino == status_.st_ino) return;
  throw Error(ExitCode::kPlugin, "plugin.replaced", path_, "the file was replaced while it was being loaded",
              "run again once the installation of the plugin has ended");
}

}  // namespace holdfast::host
