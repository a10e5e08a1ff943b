// The one table of causes.
#include "supervise/cause.hpp"

#include <array>

namespace holdfast::supervise {
namespace {

constexpr auto kCannot = Outlook::kCannot;
constexpr auto kMay = Outlook::kMay;
constexpr auto kWill = Outlook::kWill;

constexpr std::array kRows = {
    CauseRow{Cause::kNone, "none", ExitCode::kOk, "workload", kWill, "nothing is wrong", ""},
    CauseRow{Cause::kDeviceMemory, "vram_oom", ExitCode::kDeviceOutOfMemory, "workload", kCannot,
             "the device ran out of memory",
             "use smaller micro-batches ([strategy.accumulate]), trade memory for time "
             "([strategy.activation_checkpointing]) "
             "or take a bigger device"},
    CauseRow{
        Cause::kHostMemory, "host_oom", ExitCode::kHostOutOfMemory, "infrastructure", kMay,
        "the host, or the run's control group, ran out of memory",
        "raise the memory limit of the job or container, or lower memory.host_budget, loader.prefetch or batch_size"},
    CauseRow{Cause::kAddressSpace, "alloc_limit", ExitCode::kHostOutOfMemory, "user", kCannot,
             "a limit on the address space (ulimit -v) left no memory", "raise or remove `ulimit -v`, then run again"},
    CauseRow{Cause::kKilled, "killed_unknown", ExitCode::kKilled, "unknown", kMay,
             "the process was killed from outside",
             "look who may kill it (the scheduler's log, `journalctl -k` as root, systemd-oomd); run again to go on"},
    CauseRow{Cause::kStopped, "stopped", ExitCode::kStoppedAfterSave, "user", kWill, "a stop was asked for",
             "run again to go on"},
    CauseRow{Cause::kGuard, "guard", ExitCode::kStoppedAfterSave, "workload", kWill,
             "the memory guard stopped the run before memory ran out",
             "run again to go on; give it more memory where this repeats"},
    CauseRow{Cause::kPreempted, "preempted", ExitCode::kStoppedAfterSave, "infrastructure", kWill,
             "the machine was about to be taken away", "run again to go on, on this machine or another one"},
    CauseRow{Cause::kHangup, "sighup", ExitCode::kStoppedAfterSave, "user", kWill, "the terminal or session was closed",
             "start long runs with nohup, tmux, systemd-run or a scheduler; run again to go on"},
    CauseRow{Cause::kCpuLimit, "cpu_limit", ExitCode::kStoppedAfterSave, "user", kWill,
             "the limit on processor time (ulimit -t) was reached", "raise `ulimit -t`; run again to go on"},
    CauseRow{
        Cause::kDriverMismatch, "driver_mismatch", ExitCode::kUnavailable, "infrastructure", kCannot,
        "the GPU driver in the kernel and its library have different versions",
        "reboot, or load the kernel module that belongs to the library (an automatic upgrade is the usual reason)"},
    CauseRow{Cause::kGpuMissing, "gpu_missing", ExitCode::kUnavailable, "infrastructure", kMay,
             "no usable GPU or driver is there",
             "load the driver, give the container its devices, or write [run] device = \"cpu\""},
    CauseRow{Cause::kGpuFault, "gpu_fault", ExitCode::kDeviceFault, "infrastructure", kMay, "the GPU reported a fault",
             "reset or replace the GPU (nvidia-smi -q tells), or run on another node"},
    CauseRow{Cause::kSharedMemory, "sigbus_shm", ExitCode::kSharedMemory, "infrastructure", kMay,
             "shared memory ran out",
             "enlarge /dev/shm (docker run --shm-size, an emptyDir of medium Memory), then run again"},
    CauseRow{
        Cause::kMappedFile, "sigbus_file", ExitCode::kIoError, "infrastructure", kMay,
        "a mapped file was cut or could not be read",
        "put the file back, do not change data while a run reads it, and look for disk faults in the kernel's log"},
    CauseRow{Cause::kDiskFull, "disk_full", ExitCode::kIoError, "infrastructure", kMay, "no room was left on the disk",
             "free space or inodes on the file system of the run, or write elsewhere with --output DIR"},
    CauseRow{Cause::kFileSize, "file_limit", ExitCode::kIoError, "user", kCannot,
             "a file met the limit on file sizes (ulimit -f)", "raise `ulimit -f`, then run again"},
    CauseRow{Cause::kReadOnly, "fs_readonly", ExitCode::kIoError, "infrastructure", kMay,
             "the file system became read-only", "look for disk faults in the kernel's log, repair and remount it"},
    CauseRow{Cause::kIo, "io_error", ExitCode::kIoError, "infrastructure", kMay, "reading or writing failed",
             "look for disk or network faults in the kernel's log, then run again"},
    CauseRow{Cause::kDescriptors, "fd_limit", ExitCode::kIoError, "user", kMay,
             "no descriptor, thread or process could be had", "raise `ulimit -n` or `ulimit -u`, then run again"},
    CauseRow{Cause::kDiverged, "nan_divergence", ExitCode::kDiverged, "workload", kCannot, "the training diverged",
             "lower the learning rate, clip gradients, or look at the data of the first bad update"},
    CauseRow{
        Cause::kHang, "hang", ExitCode::kHang, "unknown", kMay, "there was no progress for too long",
        "read stacks.txt in the run's folder: it shows where each thread stood; raise supervise.hang_timeout where the "
        "work is only slow"},
    CauseRow{Cause::kCrash, "crash", ExitCode::kBug, "workload", kMay, "the program crashed",
             "report it to the author of the plugin that is named, or of holdfast where none is; run again to go on"},
    CauseRow{Cause::kPluginError, "plugin_error", ExitCode::kBug, "workload", kCannot, "a plugin failed",
             "report it to the plugin's author"},
    CauseRow{Cause::kReboot, "host_reboot", ExitCode::kStoppedAfterSave, "infrastructure", kWill,
             "the machine was restarted or lost power", "run again to go on from the newest checkpoint"},
    CauseRow{Cause::kData, "data", ExitCode::kBadData, "workload", kCannot, "the data is bad beyond the allowed share",
             "mend the data, or raise the share that hook.skip_corrupt allows"},
    CauseRow{Cause::kMissingInput, "missing_input", ExitCode::kMissingInput, "user", kCannot,
             "an input is missing or cannot be read", "check the path that the message names"},
    CauseRow{Cause::kRecipe, "config", ExitCode::kBadRecipe, "user", kCannot, "the recipe is invalid or in conflict",
             "`holdfast validate` shows every fault of a recipe"},
    CauseRow{Cause::kPermission, "permission", ExitCode::kPermission, "user", kCannot,
             "permission was denied, or the folder is another user's", "run as its owner, or use --output DIR"},
    CauseRow{Cause::kCannotCreate, "cannot_create", ExitCode::kCannotCreate, "infrastructure", kMay,
             "the output could not be created", "repair what the message names, or use --output DIR"},
    CauseRow{Cause::kPlugin, "plugin", ExitCode::kPlugin, "user", kCannot,
             "a plugin was not found or does not fit this version", "`holdfast plugins` lists what is found"},
    CauseRow{Cause::kLocked, "locked", ExitCode::kStoppedAfterSave, "user", kWill, "another process holds the run",
             "wait for it, or use --on-locked wait"},
    CauseRow{Cause::kUsage, "usage", ExitCode::kUsage, "user", kCannot, "the command line was wrong",
             "`holdfast COMMAND --help` shows what it takes"},
    CauseRow{Cause::kBug, "bug", ExitCode::kBug, "workload", kCannot, "a bug in holdfast or a plugin",
             "report it with run.log"},
};

}  // namespace

std::span<const CauseRow> causes() { return kRows; }

const CauseRow& cause_row(Cause cause) {
  for (const CauseRow& row : kRows)
    if (row.cause == cause) return row;
  return kRows.back();
}

std::string_view outlook_name(Outlook outlook) {
  return outlook == kCannot ? "cannot" : outlook == kMay ? "may" : "will";
}

Cause cause_of_code(int code) {
  switch (static_cast<ExitCode>(code)) {
    case ExitCode::kOk:
      return Cause::kNone;
    case ExitCode::kUsage:
      return Cause::kUsage;
    case ExitCode::kBadData:
      return Cause::kData;
    case ExitCode::kMissingInput:
      return Cause::kMissingInput;
    case ExitCode::kUnavailable:
      return Cause::kGpuMissing;
    case ExitCode::kCannotCreate:
      return Cause::kCannotCreate;
    case ExitCode::kIoError:
      return Cause::kIo;
    case ExitCode::kStoppedAfterSave:
    case ExitCode::kStoppedWithoutSave:
      return Cause::kStopped;
    case ExitCode::kPermission:
      return Cause::kPermission;
    case ExitCode::kBadRecipe:
      return Cause::kRecipe;
    case ExitCode::kPlugin:
      return Cause::kPlugin;
    case ExitCode::kDeviceOutOfMemory:
      return Cause::kDeviceMemory;
    case ExitCode::kDiverged:
      return Cause::kDiverged;
    case ExitCode::kHang:
      return Cause::kHang;
    case ExitCode::kDeviceFault:
      return Cause::kGpuFault;
    case ExitCode::kSharedMemory:
      return Cause::kSharedMemory;
    case ExitCode::kKilled:
      return Cause::kKilled;
    case ExitCode::kHostOutOfMemory:
      return Cause::kHostMemory;
    default:
      return Cause::kBug;
  }
}

}  // namespace holdfast::supervise
