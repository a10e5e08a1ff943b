// How much memory this process holds, as the kernel counts it.
#pragma once

#include <cstdint>

namespace holdfast::telemetry {

/// Resident bytes of this process (/proc/self/statm, second field times the page size); 0 where it cannot be read.
std::int64_t resident_bytes();

}  // namespace holdfast::telemetry
