// One function a check. A check of what the run will not use is at most a warning.
#include "supervise/checkup.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/text.hpp"
#include "supervise/evidence.hpp"
#include "supervise/memory_group.hpp"

namespace holdfast::supervise {
namespace {

constexpr std::int64_t kMiB = 1 << 20, kGiB = 1 << 30;
constexpr std::int64_t kYear2025 = 1'735'689'600'000'000'000;

Check ok(std::string name, std::string reason) { return {std::move(name), Grade::kOk, std::move(reason), {}}; }

/// A GPU that the recipe asks for, or would take: one that is there and broken is a fault then, never a quiet run
/// on the CPU.
Grade grade_of_gpu(const CheckupFacts& facts) { return facts.device == "cpu" ? Grade::kWarning : Grade::kFault; }
bool wants_gpu(const CheckupFacts& facts) { return facts.device.starts_with("cuda"); }

std::string cuda_text(std::int64_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// 13000 for "2.14.1+cu130"; 0 for a build without CUDA.
std::int64_t cuda_of(const std::string& libtorch) {
  const auto mark = libtorch.find("+cu");
  return mark == std::string::npos ? 0 : std::int64_t{100} * std::atoi(libtorch.c_str() + mark + 3);
}

Check check_driver(const System& system, const CheckupFacts& facts) {
  const std::string name = "driver";
  const auto gpu = system.gpus();
  const auto kernel = system.text("/proc/driver/nvidia/version", 4096);
  const std::string version = kernel ? driver_version(kernel.value) : "";
  if (!gpu && !kernel) {
    if (!wants_gpu(facts)) return ok(name, "no NVIDIA driver; runs compute on the CPU");
    return {name, Grade::kFault, "the recipe asks for '" + facts.device + "', but there is no NVIDIA driver",
            "install the driver, give the container its devices, or write [run] device = \"cpu\""};
  }
  if (!gpu)
    return {name, grade_of_gpu(facts), "the kernel has driver " + version + ", but libnvidia-ml.so.1 cannot be opened",
            "install the driver's user-space libraries of version " + version};
  const bool differs = !version.empty() && !gpu.value.driver.empty() && gpu.value.driver != version;
  if (gpu.value.status == 18 || differs)
    return {name, grade_of_gpu(facts),
            "the kernel's driver " + (version.empty() ? "" : version + " ") + "and the library " +
                (gpu.value.driver.empty() ? "" : gpu.value.driver + " ") + "have different versions",
            "reboot, or load the kernel module that belongs to the library"};
  if (gpu.value.status != 0)
    return {name, grade_of_gpu(facts), "NVML gives status " + std::to_string(gpu.value.status),
            gpu.value.status == 17 ? "let the control group of the job use the devices /dev/nvidia*"
                                   : "load the driver (modprobe nvidia) and look into the kernel's log"};
  return ok(name, "driver " + gpu.value.driver + ", for CUDA up to " + cuda_text(gpu.value.cuda));
}

Check check_libtorch(const System& system, const CheckupFacts& facts) {
  const std::string name = "libtorch";
  if (!facts.worker)
    return {name, Grade::kFault, "holdfast-worker is not installed beside holdfast",
            "install again, or build the target holdfast-worker"};
  const std::int64_t needs = cuda_of(facts.libtorch);
  if (needs == 0 && wants_gpu(facts))
    return {name, Grade::kFault,
            "the recipe asks for '" + facts.device + "', but LibTorch " + facts.libtorch + " is built without CUDA",
            "build with the preset cuda, or write [run] device = \"cpu\""};
  const auto gpu = system.gpus();
  if (needs > 0 && gpu && gpu.value.status == 0 && gpu.value.cuda > 0 && gpu.value.cuda < needs)
    return {name, grade_of_gpu(facts),
            "LibTorch " + facts.libtorch + " needs CUDA " + cuda_text(needs) + ", the driver takes CUDA up to " +
                cuda_text(gpu.value.cuda),
            "install a newer driver"};
  return ok(name, "LibTorch " + facts.libtorch + (needs == 0 ? ", for the CPU" : ""));
}

Check check_gpu(const System& system, const CheckupFacts& facts) {
  const std::string name = "gpu";
  const auto found = system.gpus();
  if (!found || found.value.status != 0 || found.value.gpus.empty()) {
    if (!wants_gpu(facts)) return ok(name, "no GPU is visible; none is needed");
    return {name, Grade::kFault, "the recipe asks for '" + facts.device + "', but no GPU is visible",
            "look at CUDA_VISIBLE_DEVICES, and at the devices that the container gets"};
  }
  std::string text;
  for (const auto& gpu : found.value.gpus) {
    const std::string which = gpu.name.empty() ? "a GPU" : gpu.name;
    if (gpu.status == 15)
      return {name, grade_of_gpu(facts), which + " is lost (fallen off the bus)",
              "reboot the machine, or use another node"};
    if (gpu.status == 16)
      return {name, grade_of_gpu(facts), which + " must be reset", "nvidia-smi --gpu-reset, or use another node"};
    if (gpu.status != 0)
      return {name, grade_of_gpu(facts), which + " does not answer: NVML status " + std::to_string(gpu.status),
              "look at nvidia-smi -q"};
    if ((gpu.clock_reasons & 0xC8) != 0)
      return {name, Grade::kWarning,
              which + " slows itself at " + std::to_string(gpu.temperature_celsius) + " C (clock reasons " +
                  std::to_string(gpu.clock_reasons) + ")",
              "look at its cooling and power"};
    text += (text.empty() ? "" : ", ") + which + " at " + std::to_string(gpu.temperature_celsius) + " C, " +
            base::human_bytes(gpu.memory_total - gpu.memory_used) + " free";
  }
  return ok(name, text);
}

Check check_shm(const System& system, const CheckupFacts&) {
  const std::string name = "shared memory";
  const auto room = system.room("/dev/shm");
  const std::string remedy = "enlarge /dev/shm (docker run --shm-size, an emptyDir of medium Memory)";
  if (!room || !system.exists("/dev/shm"))
    return {name, Grade::kWarning, "/dev/shm is not there", "mount a tmpfs at /dev/shm"};
  const std::string text =
      "/dev/shm has " + base::human_bytes(room.value.free) + " free of " + base::human_bytes(room.value.total);
  if (room.value.free < kMiB) return {name, Grade::kFault, text, remedy};
  if (room.value.total <= 64 * kMiB)
    return {name, Grade::kWarning, text + ": plugins that share batches may meet SIGBUS", remedy};
  return ok(name, text);
}

Check check_memory(const System& system, const CheckupFacts&) {
  const std::string name = "memory";
  const auto info = system.text("/proc/meminfo");
  const std::int64_t total = line_value(info.value, "MemTotal"), available = line_value(info.value, "MemAvailable");
  const auto group = read_memory_group(system, find_memory_group(system));
  if (!group || group.value.limit < 0 || (total > 0 && group.value.limit >= total)) {
    if (available >= 0 && available < 512 * kMiB)
      return {name, Grade::kWarning, "only " + base::human_bytes(available) + " of memory are available",
              "end other programs, or use another machine"};
    return ok(name, base::human_bytes(available) + " available of " + base::human_bytes(total) +
                        "; no control group limits it");
  }
  const std::int64_t left = group.value.limit - group.value.usage;
  const std::string text = "the control group " + group.value.limited_by + " allows " +
                           base::human_bytes(group.value.limit) + " of " + base::human_bytes(total) + ", " +
                           base::human_bytes(std::max<std::int64_t>(0, left)) + " are left";
  const std::string remedy = "raise the memory limit of the job or container";
  if (left < 256 * kMiB) return {name, Grade::kFault, text, remedy};
  if (left < kGiB) return {name, Grade::kWarning, text, remedy};
  return ok(name, text);
}

Check check_limits(const System& system, const CheckupFacts& facts) {
  const std::string name = "limits";
  const Limits at = system.limits();
  if (at.descriptors >= 0 && at.descriptors < 256)
    return {name, Grade::kFault, "only " + std::to_string(at.descriptors) + " files may be open", "ulimit -n 4096"};
  if (at.file_size >= 0 && facts.checkpoint_bytes > 0 && at.file_size < facts.checkpoint_bytes)
    return {name, Grade::kFault,
            "files may have " + base::human_bytes(at.file_size) + ", a checkpoint has " +
                base::human_bytes(facts.checkpoint_bytes),
            "ulimit -f unlimited"};
  if (at.file_size >= 0)
    return {name, Grade::kWarning, "files may have at most " + base::human_bytes(at.file_size), "ulimit -f unlimited"};
  if (at.address_space >= 0)
    return {name, Grade::kWarning, "the address space may have at most " + base::human_bytes(at.address_space),
            "ulimit -v unlimited"};
  if (at.cpu_seconds >= 0)
    return {
        name, Grade::kWarning,
        "the process gets at most " + base::human_duration(static_cast<double>(at.cpu_seconds)) + " of processor time",
        "ulimit -t unlimited"};
  if (at.processes >= 0 && at.processes < 256)
    return {name, Grade::kWarning, "only " + std::to_string(at.processes) + " processes and threads are allowed",
            "ulimit -u 4096"};
  if (at.descriptors >= 0 && at.descriptors < 1024)
    return {name, Grade::kWarning, "only " + std::to_string(at.descriptors) + " files may be open", "ulimit -n 4096"};
  return ok(name, (at.descriptors < 0 ? std::string("any number of") : std::to_string(at.descriptors)) +
                      " open files; no limit on file size, address space or processor time");
}

Check check_disk(const System& system, const CheckupFacts& facts) {
  const std::string name = "disk";
  if (facts.output.empty()) return ok(name, "no run was named: nothing to measure");
  const auto room = system.room(facts.output);
  if (!room)
    return {name, Grade::kFault, facts.output + " cannot be asked: " + std::string(access_name(room.access)),
            "check the path"};
  const std::string free = base::human_bytes(room.value.free) + " free at " + facts.output;
  if (room.value.read_only)
    return {name, Grade::kFault, "the file system of " + facts.output + " is read-only",
            "remount it, or use --output DIR"};
  if (room.value.files_total > 0 && room.value.files_free < 1000)
    return {name, Grade::kFault,
            "only " + std::to_string(room.value.files_free) + " inodes are free at " + facts.output,
            "remove files, or use --output DIR"};
  const std::string remedy = "free space, lower checkpoint.keep, or use --output DIR";
  if (facts.checkpoint_bytes > 0) {
    const std::int64_t need = facts.checkpoint_bytes * (facts.keep + 2);
    const std::string text = free + "; " + std::to_string(facts.keep) +
                             " checkpoints, a new one and the final weights need " + base::human_bytes(need);
    if (room.value.free < need) return {name, Grade::kFault, text, remedy};
    return room.value.free < 2 * need ? Check{name, Grade::kWarning, text, remedy} : ok(name, text);
  }
  if (room.value.free < 64 * kMiB) return {name, Grade::kFault, free, remedy};
  if (room.value.free < kGiB) return {name, Grade::kWarning, free, remedy};
  return ok(name, free + "; the size of a checkpoint is known after the first");
}

Check check_terminal(const System&, const CheckupFacts& facts) {
  if (!facts.terminal) return ok("terminal", "closing the terminal does not end a run started here");
  return {"terminal", Grade::kWarning, "closing this terminal sends SIGHUP: the run saves and stops",
          "start long runs with nohup, tmux, systemd-run or a scheduler"};
}

Check check_clock(const System& system, const CheckupFacts&) {
  const std::string name = "clock";
  if (system.wall() < kYear2025)
    return {name, Grade::kFault, "the clock is years behind", "set it (timedatectl set-ntp true)"};
  if (!system.clock_is_kept())
    return {name, Grade::kWarning, "no time server keeps the clock right; times of runs and metrics may be off",
            "timedatectl set-ntp true"};
  return ok(name, "kept right by a time server");
}

}  // namespace

std::vector<Check> check_up(const System& system, const CheckupFacts& facts) {
  std::vector<Check> checks;
  for (const auto& check : {check_driver, check_libtorch, check_gpu, check_shm, check_memory, check_limits, check_disk,
                            check_terminal, check_clock})
    checks.push_back(check(system, facts));
  return checks;
}

bool has_fault(const std::vector<Check>& checks) {
  return std::any_of(checks.begin(), checks.end(), [](const Check& check) { return check.grade == Grade::kFault; });
}

}  // namespace holdfast::supervise
