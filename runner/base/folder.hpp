// A folder held open: everything below it is reached by single names through the descriptor, never through links.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_system.hpp"

namespace holdfast::base {

/// A file descriptor with an owner.
class File {
 public:
  explicit File(int fd = -1) : fd_(fd) {}
  File(File&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }
  /// The descriptor, which somebody else closes from now on.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

struct OpenFile {
  File file;
  std::uint64_t size = 0;
};

enum class EntryKind { kFile, kFolder, kLink, kOther };
struct Entry {
  std::string name;
  EntryKind kind{};
};

/// One folder. Names are single components: a slash, "." or ".." is Error 70. Failures are io_error()s with the
/// absolute path. Movable, not thread-safe.
class Folder {
 public:
  /// Opens an existing folder; links on the way and at its end are followed, as the user gave the path.
  static Folder open(const std::string& path, FileSystem& system = FileSystem::real());
  /// The same, made first where it is absent, parents too.
  static Folder create(const std::string& path, FileSystem& system = FileSystem::real());

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path_of(std::string_view name) const;
  [[nodiscard]] int fd() const { return handle_.fd(); }
  [[nodiscard]] FileSystem& system() const { return *system_; }

  [[nodiscard]] Folder open_below(const std::string& name) const;  ///< a real folder, not a link
  Folder make_below(const std::string& name) const;                ///< created, or already there
  /// Sorted by name.
  [[nodiscard]] std::vector<Entry> entries() const;
  /// None when absent.
  [[nodiscard]] std::optional<EntryKind> kind_of(const std::string& name) const;
  /// Target of a symbolic link; none when there is no link of this name.
  [[nodiscard]] std::optional<std::string> link_target(const std::string& name) const;

  /// A regular file for reading: links, folders, devices and FIFOs are Error 66.
  [[nodiscard]] OpenFile open_file(const std::string& name) const;
  /// The whole file; Error 66 when it is larger than `limit`.
  [[nodiscard]] std::string read(const std::string& name, std::size_t limit) const;
  /// A new file for writing; Error when anything of this name exists.
  [[nodiscard]] File create_file(const std::string& name, mode_t mode) const;

  /// Removes a file or link; true when there was one.
  bool remove(const std::string& name) const;
  /// Removes a folder with everything below it, following no link. A file of this name is removed too.
  void remove_tree(const std::string& name) const;
  void rename(const std::string& from, const std::string& to) const;
  void sync() const;

 private:
  Folder(File handle, std::string path, FileSystem& system)
      : handle_(std::move(handle)), path_(std::move(path)), system_(&system) {}
  File handle_;
  std::string path_;
  FileSystem* system_;
};

/// Opens a regular file by its path: never waits (a FIFO would), follows no link at its end, and what is no regular
/// file is EINVAL. `flags` as of open(2). A negative descriptor with errno on failure.
File open_regular(const std::string& path, int flags, mode_t mode = 0644);

/// Fills `bytes` from the file; Error 66 naming both sizes when it ends early.
void read_exactly(FileSystem& system, const File& file, const std::string& path, std::span<std::byte> bytes);
void write_all(FileSystem& system, const File& file, const std::string& path, std::span<const std::byte> bytes);
void sync_file(FileSystem& system, const File& file, const std::string& path);

}  // namespace holdfast::base
