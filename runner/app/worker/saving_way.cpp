// Three limits; the first that is too narrow is told.
#include "app/worker/saving_way.hpp"

#include <algorithm>
#include <cstdio>

#include "base/cgroup_memory.hpp"
#include "base/text.hpp"
#include "device/domain_pool.hpp"

namespace holdfast::app {
namespace {

std::optional<std::int64_t> available_memory() {
  std::FILE* file = std::fopen("/proc/meminfo", "re");
  if (file == nullptr) return std::nullopt;
  std::optional<std::int64_t> bytes;
  char line[128];
  while (!bytes && std::fgets(line, sizeof line, file) != nullptr)
    if (long long kilobytes = 0; std::sscanf(line, "MemAvailable: %lld kB", &kilobytes) == 1) bytes = kilobytes * 1024;
  std::fclose(file);
  return bytes;
}

}  // namespace

HostRoom host_room() {
  HostRoom room;
  const device::MemoryReading host = device::pool_of(device::Domain::kHost).reading();
  if (host.budget > 0) room.budget = host.budget - host.allocated;
  room.machine = available_memory();
  if (const auto group = base::CgroupMemory().fullest()) room.group = group->limit - group->used;
  return room;
}

SavingWay saving_way(bool asked, std::int64_t bytes, const HostRoom& room) {
  if (!asked) return {};
  const auto narrow = [&](const std::optional<std::int64_t>& left) { return left && bytes > *left - *left / 10; };
  const auto refuse = [&](const std::int64_t left, const std::string& of) {
    return SavingWay{false, "a copy of the state takes " + base::human_bytes(bytes) + " of host memory, and " +
                                base::human_bytes(std::max<std::int64_t>(left, 0)) + " are left " + of};
  };
  if (narrow(room.budget)) return refuse(*room.budget, "of memory.host_budget");
  if (narrow(room.group)) return refuse(*room.group, "in the control group of this process");
  if (narrow(room.machine)) return refuse(*room.machine, "on this machine");
  return {true, {}};
}

SavingRow saving_row(const SavingWay& way) {
  if (way.behind) return {"in the background", "checkpoint.async"};
  if (way.why.empty()) return {"between two windows", "checkpoint.async"};
  return {"between two windows: " + way.why, "host memory"};
}

std::int64_t bytes_of(const base::StateView& state) {
  std::int64_t sum = 0;
  for (const auto* list : {&state.model, &state.optimizer})
    for (const auto& tensor : *list) sum += static_cast<std::int64_t>(tensor.size());
  return sum;
}

}  // namespace holdfast::app
