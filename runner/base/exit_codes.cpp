// The table of exit codes in words. Knows nothing of who exits when.
#include "base/exit_codes.hpp"

#include <array>

namespace holdfast::base {
namespace {

constexpr std::array kRows = {
    ExitCodeRow{ExitCode::kOk, "ok", "target reached, or it already was", "done", "stop"},
    ExitCodeRow{ExitCode::kUsage, "usage", "command line wrong", "do not retry", "stop"},
    ExitCodeRow{ExitCode::kBadData, "bad_data", "data bad beyond the allowed share", "do not retry", "stop"},
    ExitCodeRow{ExitCode::kMissingInput, "missing_input", "recipe, data or requested checkpoint missing or unreadable",
                "do not retry", "stop"},
    ExitCodeRow{ExitCode::kUnavailable, "unavailable", "device or driver unavailable or mismatched", "another node",
                "back-off"},
    ExitCodeRow{ExitCode::kBug, "bug", "bug in holdfast, or a plugin crashed (its name is told)", "do not retry",
                "restart a death by signal while there is progress, otherwise stop"},
    ExitCodeRow{ExitCode::kCannotCreate, "cannot_create", "cannot create output", "after repair", "back-off"},
    ExitCodeRow{ExitCode::kIoError, "io_error", "I/O error, disk full or descriptor limit", "after repair", "back-off"},
    ExitCodeRow{ExitCode::kStoppedAfterSave, "stopped_after_save",
                "stopped after saving, or folder locked: run again to go on", "retry",
                "restart only when the cause is the guard"},
    ExitCodeRow{ExitCode::kPermission, "permission", "permission denied or foreign folder", "do not retry", "stop"},
    ExitCodeRow{ExitCode::kBadRecipe, "bad_recipe", "recipe invalid or in conflict", "do not retry", "stop"},
    ExitCodeRow{ExitCode::kPlugin, "plugin", "plugin not found, wrong ABI or failed to register", "do not retry",
                "stop"},
    ExitCodeRow{ExitCode::kDeviceOutOfMemory, "device_out_of_memory",
                "device out of memory, ladder exhausted; state saved", "bigger device", "stop"},
    ExitCodeRow{ExitCode::kDiverged, "diverged", "training diverged", "do not retry", "stop"},
    ExitCodeRow{ExitCode::kHang, "hang", "no progress for too long", "per policy", "back-off"},
    ExitCodeRow{ExitCode::kDeviceFault, "device_fault", "device fault", "per policy", "back-off"},
    ExitCodeRow{ExitCode::kSharedMemory, "shared_memory", "shared memory exhausted or SIGBUS", "per policy",
                "back-off"},
    ExitCodeRow{ExitCode::kKilled, "killed", "killed, cause unknown", "per policy", "back-off"},
    ExitCodeRow{ExitCode::kStoppedWithoutSave, "stopped_without_save", "stopped without a checkpoint", "per policy",
                "back-off"},
    ExitCodeRow{ExitCode::kHostOutOfMemory, "host_out_of_memory", "host out of memory", "per policy", "back-off"},
};

}  // namespace

std::span<const ExitCodeRow> exit_codes() { return kRows; }

const ExitCodeRow& exit_code_row(ExitCode code) {
  const ExitCodeRow* bug = &kRows.front();
  for (const ExitCodeRow& row : kRows) {
    if (row.code == code) return row;
    if (row.code == ExitCode::kBug) bug = &row;
  }
  return *bug;
}

}  // namespace holdfast::base
