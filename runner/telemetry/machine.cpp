// Each fact on its own: one that cannot be read takes no other with it.
#include "telemetry/machine.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>

#include "base/folder.hpp"

namespace holdfast::telemetry {
namespace {

std::string beginning_of(const char* path) {
  const base::File file(open(path, O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> text{};
  const ssize_t size = file.fd() < 0 ? 0 : read(file.fd(), text.data(), text.size());
  return {text.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

}  // namespace

std::string processor_name(std::string_view cpuinfo) {
  const auto key = cpuinfo.find("model name");
  if (key == std::string_view::npos) return {};
  std::string_view line = cpuinfo.substr(key, cpuinfo.find('\n', key) - key);
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return {};
  line.remove_prefix(colon + 1);
  const auto first = line.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string() : std::string(line.substr(first));
}

EventFields machine_facts() {
  EventFields facts;
  struct utsname names {};
  if (uname(&names) == 0) {
    facts.emplace_back("host", std::string(names.nodename));
    facts.emplace_back("system", std::string(names.sysname) + " " + names.release + ", " + names.machine);
  }
  if (std::string name = processor_name(beginning_of("/proc/cpuinfo")); !name.empty())
    facts.emplace_back("processor", std::move(name));
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0)
    facts.emplace_back("cores", static_cast<std::int64_t>(CPU_COUNT(&cores)));
  struct sysinfo info {};
  if (sysinfo(&info) == 0)
    facts.emplace_back("memory_total_bytes",
                       static_cast<std::int64_t>(info.totalram) * static_cast<std::int64_t>(info.mem_unit));
  return facts;
}

}  // namespace holdfast::telemetry
