// A file system whose n-th changing call fails, for walking through every failure point of a writer.
#pragma once

#include <cerrno>

#include "base/file_system.hpp"

namespace holdfast::test {

class FaultyFileSystem : public base::FileSystem {
 public:
  /// Call number `fail_at` (0-based, changing calls only) fails with `number`; -1: none fails, calls are only counted.
  explicit FaultyFileSystem(int fail_at = -1, int number = EIO, bool all_later = false)
      : fail_at_(fail_at), number_(number), all_later_(all_later) {}
  [[nodiscard]] int calls() const { return calls_; }

  int openat(int folder, const char* name, int flags, mode_t mode) override {
    if ((flags & O_CREAT) != 0 && fails()) return -1;
    return FileSystem::openat(folder, name, flags, mode);
  }
  ssize_t write(int fd, const void* bytes, std::size_t size) override {
    if (fails()) return -1;
    return FileSystem::write(fd, bytes, size > 1 ? size / 2 : size);  // short writes are normal
  }
  int fsync(int fd) override { return fails() ? -1 : FileSystem::fsync(fd); }
  int mkdirat(int folder, const char* name, mode_t mode) override {
    return fails() ? -1 : FileSystem::mkdirat(folder, name, mode);
  }
  int renameat(int from_folder, const char* from, int to_folder, const char* to) override {
    return fails() ? -1 : FileSystem::renameat(from_folder, from, to_folder, to);
  }
  int exchange(int folder, const char* a, const char* b) override {
    return fails() ? -1 : FileSystem::exchange(folder, a, b);
  }
  int symlinkat(const char* target, int folder, const char* name) override {
    return fails() ? -1 : FileSystem::symlinkat(target, folder, name);
  }
  int unlinkat(int folder, const char* name, int flags) override {
    return fails() ? -1 : FileSystem::unlinkat(folder, name, flags);
  }

 private:
  bool fails() {
    const int call = calls_++;
    if (fail_at_ < 0 || (all_later_ ? call < fail_at_ : call != fail_at_)) return false;
    errno = number_;
    return true;
  }
  int fail_at_, number_;
  bool all_later_;
  int calls_ = 0;
};

}  // namespace holdfast::test
