// Resident memory of this process, and the C allocator's habits.
#include "device/memory.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "device/domain_pool.hpp"

namespace holdfast::device {

MemoryFigures ProcessMemory::read() const {
  MemoryFigures figures;
  std::ifstream statm("/proc/self/statm");  // proc(5): pages in total, pages resident
  std::int64_t total = 0, resident = 0;
  if (statm >> total >> resident) figures.resident_bytes = resident * sysconf(_SC_PAGESIZE);
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) figures.peak_resident_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  return figures;
}

void release_caches() {
  pool_of(Domain::kDevice).release();
  pool_of(Domain::kHost).release();
  malloc_trim(0);
}

void keep_freed_memory() {
  // mallopt(3): 32 MiB is the largest threshold it takes; larger blocks stay mappings of their own.
  mallopt(M_MMAP_THRESHOLD, 32 * 1024 * 1024);
  mallopt(M_TRIM_THRESHOLD, 1024 * 1024 * 1024);
  mallopt(M_TOP_PAD, 16 * 1024 * 1024);
}

}  // namespace holdfast::device
