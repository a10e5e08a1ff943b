// Thread counts of LibTorch's OpenMP backend.
#include "device/threads.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <omp.h>
#include <sched.h>

#include <fstream>
#include <set>
#include <string>

namespace holdfast::device {

int physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::string> cores;  // a core is named by the list of its siblings
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    std::string siblings;
    if (!(file >> siblings)) siblings = "cpu " + std::to_string(cpu);
    cores.insert(siblings);
  }
  return cores.empty() ? 1 : static_cast<int>(cores.size());
}

void set_compute_threads(int threads) {
  at::set_num_threads(threads > 0 ? threads : physical_cores());
  // May be set once a process; a second run in one process (tests) keeps the first value.
  static const bool once = (at::set_num_interop_threads(1), true);
  static_cast<void>(once);
}

void compute_alone_here() {
  // The number is a thread's own in OpenMP, but at::set_num_threads would also change it for threads to come.
  at::internal::lazy_init_num_threads();
  omp_set_num_threads(1);
}

}  // namespace holdfast::device
