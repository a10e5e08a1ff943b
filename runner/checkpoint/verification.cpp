// A megabyte at a time: a checkpoint may be larger than the memory that is left.
#include "checkpoint/verification.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "checkpoint/digest.hpp"
#include "holdfast/error.hpp"

namespace holdfast::checkpoint {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;

[[noreturn]] void differs(const base::Folder& folder, const std::string& name, const std::string& what) {
  throw Error(ExitCode::kIoError, "checkpoint.read_back", folder.path_of(name),
              "the file does not read back as it was written: " + what,
              "the disk or network file system loses bytes: see the kernel log, or use --output DIR on another one");
}

}  // namespace

void verify_written(const base::Folder& folder, const std::string& name, const WrittenFile& written) {
  const base::OpenFile opened = folder.open_file(name);
  if (opened.size != written.size)
    differs(folder, name,
            std::to_string(opened.size) + " bytes, and " + std::to_string(written.size) + " were written");
  // Synced pages are clean: the kernel may drop them, and reads come from below.
  (void)::posix_fadvise(opened.file.fd(), 0, 0, POSIX_FADV_DONTNEED);
  Hasher hasher;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(kPiece, opened.size)));
  for (std::uint64_t left = opened.size; left > 0;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece.size()));
    const std::span<std::byte> part(piece.data(), size);
    base::read_exactly(folder.system(), opened.file, folder.path_of(name), part);
    hasher.add(part);
    left -= size;
  }
  if (const std::string hash = hasher.hex(); hash != written.hash)
    differs(folder, name, "its bytes hash to " + hash + ", and those written to " + written.hash);
}

}  // namespace holdfast::checkpoint
