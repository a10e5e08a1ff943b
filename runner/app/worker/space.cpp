// statvfs(3): blocks for ordinary users, or all free ones for root.
#include "app/worker/space.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>

#include "base/text.hpp"
#include "holdfast/error.hpp"

namespace holdfast::app {
namespace {

constexpr std::int64_t kSmallFiles = 256 << 10;  // manifest, recipe, status, the beginning of logs

std::int64_t bytes_of(const std::vector<base::TensorView>& tensors) {
  std::int64_t sum = 0;
  for (const auto& tensor : tensors) sum += static_cast<std::int64_t>(tensor.size());
  return sum;
}

}  // namespace

void require_space(const std::string& home, const base::StateView& state) {
  std::error_code failure;
  std::filesystem::path folder = home;
  while (!std::filesystem::exists(folder, failure) && folder.has_relative_path()) folder = folder.parent_path();
  if (const auto real = std::filesystem::canonical(folder, failure); !failure) folder = real;
  struct statvfs info {};
  if (statvfs(folder.c_str(), &info) != 0) return;  // cannot be asked: the first write will tell
  const auto blocks = static_cast<std::int64_t>(geteuid() == 0 ? info.f_bfree : info.f_bavail);
  const std::int64_t have = blocks * static_cast<std::int64_t>(info.f_frsize);
  const std::int64_t need = 2 * bytes_of(state.model) + bytes_of(state.optimizer) + kSmallFiles;
  if (have < need)
    throw Error(ExitCode::kIoError, "output.space", home,
                "a checkpoint and the final weights need " + base::human_bytes(need) + ", but only " +
                    base::human_bytes(have) + " are free in " + folder.string(),
                "free some space, or write elsewhere with --output DIR");
}

}  // namespace holdfast::app
