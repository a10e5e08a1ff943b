// proc(5): statm gives sizes in pages.
#include "telemetry/memory_figure.hpp"

#include <unistd.h>

#include <cstdio>

namespace holdfast::telemetry {

std::int64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (!file) return 0;
  long long total = 0, resident = 0;
  const int read = std::fscanf(file, "%lld %lld", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace holdfast::telemetry
