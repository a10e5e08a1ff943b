// The system calls that can fail while state is written, as an interface, so that tests can make each of them fail.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>

namespace holdfast::base {

/// Each function is the system call of its name with the same result and errno. Thread-safe. The base class is the real
/// one; a test overrides what shall fail.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual int openat(int folder, const char* name, int flags, mode_t mode) {
    return ::openat(folder, name, flags, mode);
  }
  virtual ssize_t write(int fd, const void* bytes, std::size_t size) { return ::write(fd, bytes, size); }
  virtual ssize_t read(int fd, void* bytes, std::size_t size) { return ::read(fd, bytes, size); }
  virtual int fsync(int fd) { return ::fsync(fd); }
  virtual int mkdirat(int folder, const char* name, mode_t mode) { return ::mkdirat(folder, name, mode); }
  virtual int renameat(int from_folder, const char* from, int to_folder, const char* to) {
    return ::renameat(from_folder, from, to_folder, to);
  }
  /// Swaps two names in one step (renameat2 with RENAME_EXCHANGE); EINVAL where the file system cannot.
  virtual int exchange(int folder, const char* a, const char* b) {
    return ::renameat2(folder, a, folder, b, RENAME_EXCHANGE);
  }
  virtual int symlinkat(const char* target, int folder, const char* name) { return ::symlinkat(target, folder, name); }
  virtual int unlinkat(int folder, const char* name, int flags) { return ::unlinkat(folder, name, flags); }

  static FileSystem& real() {
    static FileSystem file_system;
    return file_system;
  }
};

}  // namespace holdfast::base
