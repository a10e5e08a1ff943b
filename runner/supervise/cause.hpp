// Why a run stopped: the closed list of causes, what each means for exit codes and restarts, and what to do.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "holdfast/exit_code.hpp"

namespace holdfast::supervise {

enum class Cause {
  kNone,  ///< nothing to explain: running, finished, never begun
  kDeviceMemory,
  kHostMemory,
  kAddressSpace,
  kKilled,
  kStopped,
  kGuard,
  kPreempted,
  kHangup,
  kCpuLimit,
  kDriverMismatch,
  kGpuMissing,
  kGpuFault,
  kSharedMemory,
  kMappedFile,
  kDiskFull,
  kFileSize,
  kReadOnly,
  kIo,
  kDescriptors,
  kDiverged,
  kHang,
  kCrash,
  kPluginError,
  kReboot,
  kData,
  kMissingInput,
  kRecipe,
  kPermission,
  kCannotCreate,
  kPlugin,
  kLocked,
  kUsage,
  kBug,
};

enum class Outlook { kCannot, kMay, kWill };  ///< whether the same run may succeed when it is only started again

struct CauseRow {
  Cause cause;
  std::string_view name;    ///< stable slug, also the label of metrics: "host_oom"
  ExitCode code;            ///< the exit code that this cause stands for
  std::string_view domain;  ///< "workload", "infrastructure", "user", "unknown"
  Outlook outlook;
  std::string_view meaning;  ///< a clause for people
  std::string_view advice;   ///< what to do, one sentence or two
};

std::span<const CauseRow> causes();
const CauseRow& cause_row(Cause cause);
std::string_view outlook_name(Outlook outlook);  ///< "cannot", "may", "will"
/// What an exit code says of itself, without other evidence.
Cause cause_of_code(int code);

}  // namespace holdfast::supervise
