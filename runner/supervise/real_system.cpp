// open(2), statvfs(3), getrlimit(2), and the record reads of /dev/kmsg (Documentation/ABI/testing/dev-kmsg).
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/folder.hpp"
#include "supervise/nvml.hpp"
#include "supervise/recorder.hpp"
#include "supervise/system.hpp"

namespace holdfast::supervise {
namespace {

constexpr std::size_t kLargestLog = std::size_t{4} << 20;

template <class T>
Found<T> refused(const std::string& source, int reason) {
  Found<T> found;
  found.source = source;
  found.access = reason == EACCES || reason == EPERM                         ? Access::kForbidden
                 : reason == ENOENT || reason == ENOTDIR || reason == ENODEV ? Access::kAbsent
                                                                             : Access::kBroken;
  if (found.access == Access::kBroken) found.fault = std::strerror(reason);
  return found;
}

/// Reads until the end or the limit; 0, or errno.
int read_into(int file, std::string& text, std::size_t limit) {
  std::array<char, 8192> piece{};
  while (text.size() < limit) {
    const ssize_t got = ::read(file, piece.data(), std::min(piece.size(), limit - text.size()));
    if (got == 0) return 0;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return 0;
}

/// One record a read; EPIPE tells of records that were overwritten meanwhile.
void read_records(int file, std::string& text) {
  std::array<char, 8192> piece{};
  while (text.size() < kLargestLog) {
    const ssize_t got = ::read(file, piece.data(), piece.size());
    if (got < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (got <= 0) return;
    text.append(piece.data(), static_cast<std::size_t>(got));
    if (text.back() != '\n') text += '\n';
  }
}

std::int64_t soft(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return -1;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

}  // namespace

std::string RealSystem::at(const std::string& path) const {
  for (const char* top : {"/proc/", "/sys/", "/dev/"})
    if (!root_.empty() && path.starts_with(top)) return root_ + path;
  return path;
}

Found<std::string> RealSystem::text(const std::string& path, std::size_t limit) const {
  const base::File file(::open(at(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd() < 0) return refused<std::string>(path, errno);
  Found<std::string> found;
  found.source = path;
  if (const int failed = read_into(file.fd(), found.value, limit); failed != 0)
    return refused<std::string>(path, failed);
  found.access = Access::kValue;
  return found;
}

bool RealSystem::exists(const std::string& path) const { return ::access(at(path).c_str(), F_OK) == 0; }

Found<Room> RealSystem::room(const std::string& path) const {
  std::string folder = at(path);
  struct statvfs info {};
  int failed = 0;
  while ((failed = ::statvfs(folder.c_str(), &info) == 0 ? 0 : errno) == ENOENT && folder.size() > 1) {
    const auto slash = folder.rfind('/');
    folder = slash == std::string::npos ? "." : slash == 0 ? "/" : folder.substr(0, slash);
  }
  if (failed != 0) return refused<Room>(path, failed);
  const auto unit = static_cast<std::int64_t>(info.f_frsize);
  const auto blocks = static_cast<std::int64_t>(::geteuid() == 0 ? info.f_bfree : info.f_bavail);
  Found<Room> found;
  found.access = Access::kValue;
  found.source = path;
  found.value = {static_cast<std::int64_t>(info.f_blocks) * unit, blocks * unit,
                 static_cast<std::int64_t>(info.f_files), static_cast<std::int64_t>(info.f_ffree),
                 (info.f_flag & ST_RDONLY) != 0};
  return found;
}

Found<std::string> RealSystem::kernel_log() const {
  const std::string name = "/dev/kmsg";
  if (!root_.empty()) return text(name, kLargestLog);
  const base::File file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd() < 0) return refused<std::string>(name, errno);
  Found<std::string> found;
  found.access = Access::kValue;
  found.source = name;
  read_records(file.fd(), found.value);
  return found;
}

Found<GpuReport> RealSystem::gpus() const { return ask_nvml(); }

Limits RealSystem::limits() const {
  return {soft(RLIMIT_NOFILE), soft(RLIMIT_NPROC), soft(RLIMIT_FSIZE),
          soft(RLIMIT_AS),     soft(RLIMIT_CPU),   soft(RLIMIT_MEMLOCK)};
}

std::int64_t RealSystem::wall() const { return wall_ns(); }
std::int64_t RealSystem::monotonic() const { return monotonic_ns(); }

bool RealSystem::clock_is_kept() const {
  timex time{};
  return ::adjtimex(&time) >= 0 && (time.status & STA_UNSYNC) == 0;
}

}  // namespace holdfast::supervise
