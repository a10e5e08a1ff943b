// /proc/self/exe (proc(5)) is right even when the command was started through a link or a search path.
#include "app/front/location.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "holdfast/error.hpp"

namespace holdfast::app {

std::string own_path() {
  std::error_code failure;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure)
    throw Error(ExitCode::kBug, "install.no_proc", "holdfast", "cannot read /proc/self/exe: " + failure.message(),
                "holdfast needs /proc to find its own parts");
  return path.string();
}

std::string worker_of(const std::string& front) {
  const auto folder = std::filesystem::path(front).parent_path();
  const auto beside = folder / "libexec/holdfast/holdfast-worker";
  const auto above = folder.parent_path() / "libexec/holdfast/holdfast-worker";
  for (const auto& path : {beside, above})
    if (access(path.c_str(), X_OK) == 0) return path.string();
  throw Error(ExitCode::kBug, "install.no_worker", "holdfast",
              "its worker is neither at " + beside.string() + " nor at " + above.string(),
              "install again, or build the target holdfast-worker");
}

}  // namespace holdfast::app
