// Whole reads and writes: short transfers and interrupted calls are continued here.
#include <algorithm>
#include <cerrno>

#include "base/folder.hpp"
#include "base/io_error.hpp"

namespace holdfast::base {
namespace {

// Linux moves at most 2 GiB - 4 KiB in one call; smaller pieces keep a throttled disk interruptible.
constexpr std::size_t kPiece = std::size_t{64} << 20;

}  // namespace

void read_exactly(FileSystem& system, const File& file, const std::string& path, std::span<std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = system.read(file.fd(), bytes.data() + done, std::min(kPiece, bytes.size() - done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw io_error(Doing::kRead, path, errno);
    if (got == 0)
      throw Error(
          ExitCode::kMissingInput, "io.truncated", path,
          "cannot read: the file ends after " + std::to_string(done) + " of " + std::to_string(bytes.size()) + " bytes",
          "it was cut while being read; put the whole file there");
    done += static_cast<std::size_t>(got);
  }
}

void write_all(FileSystem& system, const File& file, const std::string& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = system.write(file.fd(), bytes.data(), std::min(kPiece, bytes.size()));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw io_error(Doing::kWrite, path, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void sync_file(FileSystem& system, const File& file, const std::string& path) {
  if (system.fsync(file.fd()) != 0) throw io_error(Doing::kWrite, path, errno);
}

}  // namespace holdfast::base
