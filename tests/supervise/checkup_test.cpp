// The checks of `holdfast doctor`: a healthy machine, and each fault by itself.
#include "supervise/checkup.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "fake_system.hpp"

using namespace holdfast::supervise;
using holdfast::test::FakeSystem;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

FakeSystem healthy() {
  FakeSystem system;
  system.files["/proc/meminfo"] = "MemTotal: 16777216 kB\nMemAvailable: 12582912 kB\n";
  system.rooms["/dev/shm"] = {8LL << 30, 8LL << 30, 0, 0, false};
  system.rooms["/runs"] = {1LL << 40, 1LL << 39, 1000000, 900000, false};
  system.soft_limits.descriptors = 4096;
  return system;
}

void add_gpu(FakeSystem& system) {
  system.gpu_report.access = Access::kValue;
  auto& report = system.gpu_report.value;
  report.driver = "550.54.15";
  report.cuda = 12040;
  report.gpus.push_back({"Fake GPU", "GPU-0", 0, 40, 90000, 1500, 0, 4LL << 30, 24LL << 30});
  system.files["/proc/driver/nvidia/version"] = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n";
}

void limit_memory(FakeSystem& system, std::int64_t limit, std::int64_t usage) {
  system.files["/proc/self/cgroup"] = "0::/job\n";
  system.files["/proc/self/mountinfo"] = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
  system.files["/sys/fs/cgroup/job/memory.events"] = "oom_kill 0\n";
  system.files["/sys/fs/cgroup/job/memory.current"] = std::to_string(usage) + "\n";
  system.files["/sys/fs/cgroup/job/memory.max"] = std::to_string(limit) + "\n";
}

CheckupFacts facts() {
  CheckupFacts known;
  known.libtorch = "2.13.0";
  known.output = "/runs";
  return known;
}

Check check_named(const std::string& name, const FakeSystem& system, const CheckupFacts& known) {
  for (const Check& check : check_up(system, known))
    if (check.name == name) return check;
  return {};
}

struct Fault {
  const char* name;
  std::function<void(FakeSystem&, CheckupFacts&)> break_it;
  Grade grade;
  const char* reason;
  const char* remedy;
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = {
      {"driver", [](auto&, auto& f) { f.device = "cuda"; }, Grade::kFault,
       "the recipe asks for 'cuda', but there is no NVIDIA driver",
       "install the driver, give the container its devices, or write [run] device = \"cpu\""},
      {"driver", [](auto& s, auto&) { add_gpu(s), s.gpu_report.value.status = 18, s.gpu_report.value.driver.clear(); },
       Grade::kFault, "the kernel's driver 550.54.15 and the library have different versions",
       "reboot, or load the kernel module that belongs to the library"},
      {"driver", [](auto& s, auto&) { add_gpu(s), s.gpu_report.value.driver = "560.1.1"; }, Grade::kFault,
       "the kernel's driver 550.54.15 and the library 560.1.1 have different versions",
       "reboot, or load the kernel module that belongs to the library"},
      {"driver", [](auto& s, auto& f) { add_gpu(s), s.gpu_report.value.status = 18, f.device = "cpu"; },
       Grade::kWarning, "the kernel's driver 550.54.15 and the library 550.54.15 have different versions",
       "reboot, or load the kernel module that belongs to the library"},
      {"driver", [](auto& s, auto&) { add_gpu(s), s.gpu_report.value.status = 9; }, Grade::kFault,
       "NVML gives status 9", "load the driver (modprobe nvidia) and look into the kernel's log"},
      {"driver", [](auto& s, auto&) { add_gpu(s), s.gpu_report.value.status = 17; }, Grade::kFault,
       "NVML gives status 17", "let the control group of the job use the devices /dev/nvidia*"},
      {"driver", [](auto& s, auto&) { add_gpu(s), s.gpu_report.access = Access::kAbsent; }, Grade::kFault,
       "the kernel has driver 550.54.15, but libnvidia-ml.so.1 cannot be opened",
       "install the driver's user-space libraries of version 550.54.15"},
      {"libtorch", [](auto&, auto& f) { f.worker = false; }, Grade::kFault,
       "holdfast-worker is not installed beside holdfast", "install again, or build the target holdfast-worker"},
      {"libtorch", [](auto& s, auto& f) { add_gpu(s), f.device = "cuda"; }, Grade::kFault,
       "the recipe asks for 'cuda', but LibTorch 2.13.0 is built without CUDA",
       "build with the preset cuda, or write [run] device = \"cpu\""},
      {"libtorch", [](auto& s, auto& f) { add_gpu(s), f.libtorch = "2.14.1+cu130"; }, Grade::kFault,
       "LibTorch 2.14.1+cu130 needs CUDA 13.0, the driver takes CUDA up to 12.4", "install a newer driver"},
      {"gpu", [](auto&, auto& f) { f.device = "cuda:0"; }, Grade::kFault,
       "the recipe asks for 'cuda:0', but no GPU is visible",
       "look at CUDA_VISIBLE_DEVICES, and at the devices that the container gets"},
      {"gpu", [](auto& s, auto&) { add_gpu(s), s.gpu_report.value.gpus[0].status = 15; }, Grade::kFault,
       "Fake GPU is lost (fallen off the bus)", "reboot the machine, or use another node"},
      {"gpu", [](auto& s, auto&) { add_gpu(s), s.gpu_report.value.gpus[0].status = 16; }, Grade::kFault,
       "Fake GPU must be reset", "nvidia-smi --gpu-reset, or use another node"},
      {"gpu", [](auto& s, auto&) { add_gpu(s), s.gpu_report.value.gpus[0].status = 999; }, Grade::kFault,
       "Fake GPU does not answer: NVML status 999", "look at nvidia-smi -q"},
      {"gpu",
       [](auto& s, auto&) {
         add_gpu(s);
         s.gpu_report.value.gpus[0].clock_reasons = 0x40;
         s.gpu_report.value.gpus[0].temperature_celsius = 92;
       },
       Grade::kWarning, "Fake GPU slows itself at 92 C (clock reasons 64)", "look at its cooling and power"},
      {"shared memory", [](auto& s, auto&) { s.rooms.erase("/dev/shm"); }, Grade::kWarning, "/dev/shm is not there",
       "mount a tmpfs at /dev/shm"},
      {"shared memory", [](auto& s, auto&) { s.rooms["/dev/shm"] = {64 * kMiB, 60 * kMiB, 0, 0, false}; },
       Grade::kWarning, "/dev/shm has 60.0 MiB free of 64.0 MiB: plugins that share batches may meet SIGBUS",
       "enlarge /dev/shm (docker run --shm-size, an emptyDir of medium Memory)"},
      {"shared memory", [](auto& s, auto&) { s.rooms["/dev/shm"] = {64 * kMiB, 0, 0, 0, false}; }, Grade::kFault,
       "/dev/shm has 0 B free of 64.0 MiB", "enlarge /dev/shm (docker run --shm-size, an emptyDir of medium Memory)"},
      {"memory", [](auto& s, auto&) { limit_memory(s, 512 * kMiB, 400 * kMiB); }, Grade::kFault,
       "the control group /sys/fs/cgroup/job allows 512.0 MiB of 16.0 GiB, 112.0 MiB are left",
       "raise the memory limit of the job or container"},
      {"memory", [](auto& s, auto&) { limit_memory(s, 1024 * kMiB, 400 * kMiB); }, Grade::kWarning,
       "the control group /sys/fs/cgroup/job allows 1.0 GiB of 16.0 GiB, 624.0 MiB are left",
       "raise the memory limit of the job or container"},
      {"memory", [](auto& s, auto&) { s.files["/proc/meminfo"] = "MemTotal: 16777216 kB\nMemAvailable: 102400 kB\n"; },
       Grade::kWarning, "only 100.0 MiB of memory are available", "end other programs, or use another machine"},
      {"limits", [](auto& s, auto&) { s.soft_limits.descriptors = 100; }, Grade::kFault, "only 100 files may be open",
       "ulimit -n 4096"},
      {"limits", [](auto& s, auto&) { s.soft_limits.descriptors = 512; }, Grade::kWarning, "only 512 files may be open",
       "ulimit -n 4096"},
      {"limits", [](auto& s, auto& f) { s.soft_limits.file_size = kMiB, f.checkpoint_bytes = 2 * kMiB; }, Grade::kFault,
       "files may have 1.0 MiB, a checkpoint has 2.0 MiB", "ulimit -f unlimited"},
      {"limits", [](auto& s, auto&) { s.soft_limits.file_size = kMiB; }, Grade::kWarning,
       "files may have at most 1.0 MiB", "ulimit -f unlimited"},
      {"limits", [](auto& s, auto&) { s.soft_limits.address_space = 4 * kMiB; }, Grade::kWarning,
       "the address space may have at most 4.0 MiB", "ulimit -v unlimited"},
      {"limits", [](auto& s, auto&) { s.soft_limits.cpu_seconds = 60; }, Grade::kWarning,
       "the process gets at most 1 min 00 s of processor time", "ulimit -t unlimited"},
      {"limits", [](auto& s, auto&) { s.soft_limits.processes = 20; }, Grade::kWarning,
       "only 20 processes and threads are allowed", "ulimit -u 4096"},
      {"disk", [](auto& s, auto&) { s.rooms["/runs"].read_only = true; }, Grade::kFault,
       "the file system of /runs is read-only", "remount it, or use --output DIR"},
      {"disk", [](auto& s, auto&) { s.rooms["/runs"].files_free = 7; }, Grade::kFault,
       "only 7 inodes are free at /runs", "remove files, or use --output DIR"},
      {"disk", [](auto& s, auto& f) { s.rooms["/runs"].free = 400 * kMiB, f.checkpoint_bytes = 100 * kMiB; },
       Grade::kFault, "400.0 MiB free at /runs; 3 checkpoints, a new one and the final weights need 500.0 MiB",
       "free space, lower checkpoint.keep, or use --output DIR"},
      {"disk", [](auto& s, auto& f) { s.rooms["/runs"].free = 600 * kMiB, f.checkpoint_bytes = 100 * kMiB; },
       Grade::kWarning, "600.0 MiB free at /runs; 3 checkpoints, a new one and the final weights need 500.0 MiB",
       "free space, lower checkpoint.keep, or use --output DIR"},
      {"disk", [](auto& s, auto&) { s.rooms["/runs"].free = kMiB; }, Grade::kFault, "1.0 MiB free at /runs",
       "free space, lower checkpoint.keep, or use --output DIR"},
      {"terminal", [](auto&, auto& f) { f.terminal = true; }, Grade::kWarning,
       "closing this terminal sends SIGHUP: the run saves and stops",
       "start long runs with nohup, tmux, systemd-run or a scheduler"},
      {"clock", [](auto& s, auto&) { s.wall_ns = 0; }, Grade::kFault, "the clock is years behind",
       "set it (timedatectl set-ntp true)"},
      {"clock", [](auto& s, auto&) { s.clock_kept = false; }, Grade::kWarning,
       "no time server keeps the clock right; times of runs and metrics may be off", "timedatectl set-ntp true"},
  };
  return all;
}

}  // namespace

TEST_CASE("on a healthy machine every check is well and says what it found") {
  const auto checks = check_up(healthy(), facts());
  CHECK(checks.size() == 9);
  for (const Check& check : checks) {
    CAPTURE(check.name);
    CHECK(check.grade == Grade::kOk);
    CHECK(check.remedy.empty());
  }
  CHECK(checkup_text(checks) ==
        "ok       driver         no NVIDIA driver; runs compute on the CPU\n"
        "ok       libtorch       LibTorch 2.13.0, for the CPU\n"
        "ok       gpu            no GPU is visible; none is needed\n"
        "ok       shared memory  /dev/shm has 8.0 GiB free of 8.0 GiB\n"
        "ok       memory         12.0 GiB available of 16.0 GiB; no control group limits it\n"
        "ok       limits         4096 open files; no limit on file size, address space or processor time\n"
        "ok       disk           512.0 GiB free at /runs; the size of a checkpoint is known after the first\n"
        "ok       terminal       closing the terminal does not end a run started here\n"
        "ok       clock          kept right by a time server\n");
}

TEST_CASE("a healthy GPU is told with temperature and free memory") {
  FakeSystem system = healthy();
  add_gpu(system);
  CHECK(check_named("driver", system, facts()).reason == "driver 550.54.15, for CUDA up to 12.4");
  CHECK(check_named("gpu", system, facts()).reason == "Fake GPU at 40 C, 20.0 GiB free");
}

TEST_CASE("each fault gives its line, its reason and its remedy, and touches no other check") {
  for (const Fault& fault : faults()) {
    FakeSystem system = healthy();
    CheckupFacts known = facts();
    fault.break_it(system, known);
    const Check check = check_named(fault.name, system, known);
    CAPTURE(fault.reason);
    CHECK(grade_name(check.grade) == grade_name(fault.grade));
    CHECK(check.reason == fault.reason);
    CHECK(check.remedy == fault.remedy);
  }
}

TEST_CASE("JSON has the checks, and whether one is a fault") {
  FakeSystem system = healthy();
  auto object = nlohmann::json::parse(checkup_json(check_up(system, facts())));
  CHECK(object["fault"] == false);
  CHECK(object["checks"].size() == 9);
  system.wall_ns = 0;
  object = nlohmann::json::parse(checkup_json(check_up(system, facts())));
  CHECK(object["fault"] == true);
  CHECK(object["checks"][8]["grade"] == "fault");
  CHECK(object["checks"][8]["remedy"] == "set it (timedatectl set-ntp true)");
}
