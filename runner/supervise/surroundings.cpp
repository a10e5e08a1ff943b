// proc(5). A sample reads a dozen small files: well under a millisecond.
#include "supervise/surroundings.hpp"

#include <dirent.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "base/process.hpp"
#include "supervise/memory_group.hpp"
#include "supervise/recorder.hpp"

namespace holdfast::supervise {
namespace {

std::int64_t known(std::int64_t value) { return value < 0 ? kUnknown : value; }

std::int64_t own_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return kUnknown;
  std::int64_t count = -3;  // ".", ".." and the folder itself
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

}  // namespace

std::string boot_id(const System& system) {
  auto id = system.text("/proc/sys/kernel/random/boot_id", 64).value;
  while (!id.empty() && (id.back() == '\n' || id.back() == ' ')) id.pop_back();
  return id;
}

std::int64_t pressure(const System& system, const std::string& path, std::string_view line) {
  const auto text = system.text(path, 4096);
  if (!text) return kUnknown;
  const auto at = text.value.find(line);
  const auto mark = at == std::string::npos ? at : text.value.find("avg10=", at);
  if (mark == std::string::npos) return kUnknown;
  double percent = 0;  // the kernel writes "0.00", whatever the locale
  const auto* begin = text.value.data() + mark + 6;
  if (std::from_chars(begin, text.value.data() + text.value.size(), percent).ec != std::errc()) return kUnknown;
  return static_cast<std::int64_t>(percent * 100 + 0.5);
}

Surroundings::Surroundings(const System& system, std::string folder, bool gpu)
    : system_(system),
      folder_(std::move(folder)),
      group_(find_memory_group(system)),
      gpu_(gpu ? GpuWatch::open() : nullptr) {}

Attempt Surroundings::attempt() const {
  Attempt attempt;
  attempt.pid = ::getpid();
  attempt.monotonic = system_.monotonic();
  attempt.wall = system_.wall();
  attempt.boot_id.set(boot_id(system_));
  attempt.host.set(base::host_name());
  attempt.memory_group.set(group_);
  const auto group = read_memory_group(system_, group_);
  attempt.group_kills = group ? group.value.kills : kUnknown;
  const auto kills = read_system_kills(system_);
  attempt.system_kills = kills ? kills.value : kUnknown;
  attempt.memory_total = known(line_value(system_.text("/proc/meminfo").value, "MemTotal"));
  const Limits limits = system_.limits();
  attempt.limit_address_space = known(limits.address_space);
  attempt.limit_file_size = known(limits.file_size);
  attempt.limit_cpu_seconds = known(limits.cpu_seconds);
  attempt.limit_descriptors = known(limits.descriptors);
  attempt.limit_processes = known(limits.processes);
  return attempt;
}

void Surroundings::sample(Sample& into) {
  const auto status = system_.text("/proc/self/status");
  if (status) into.resident = known(line_value(status.value, "VmRSS"));
  if (status) into.threads = known(line_value(status.value, "Threads"));
  into.descriptors = own_descriptors();
  if (const auto group = read_memory_group(system_, group_)) {
    into.group_usage = group.value.usage;
    into.group_limit = known(group.value.limit);
    into.group_kills = group.value.kills;
  }
  if (const auto kills = read_system_kills(system_)) into.system_kills = kills.value;
  into.available = known(line_value(system_.text("/proc/meminfo").value, "MemAvailable"));
  into.memory_pressure = pressure(system_, "/proc/pressure/memory", "full");
  into.io_pressure = pressure(system_, "/proc/pressure/io", "full");
  into.cpu_pressure = pressure(system_, "/proc/pressure/cpu", "some");
  if (const auto room = system_.room(folder_)) {
    into.disk_free = room.value.free;
    into.disk_files = room.value.files_total > 0 ? room.value.files_free : kUnknown;
  }
  if (const auto shm = system_.room("/dev/shm")) {
    into.shm_free = shm.value.free;
    into.shm_total = shm.value.total;
  }
  if (gpu_) gpu_->sample(into.gpu);
}

}  // namespace holdfast::supervise
