// Resident memory of this process.
#include "device/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

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

}  // namespace holdfast::device
