// Random numbers of a micro-batch as a pure function of where it stands in the run: nothing to save or restore.
#pragma once

#include <cstdint>

namespace holdfast::device {

/// Seeds every generator that operators draw from, for one micro-batch: equal arguments give equal numbers, so a
/// retried, resumed or otherwise split window draws what it would have drawn. About a microsecond.
void seed_generators(std::uint64_t seed, std::int64_t update, std::int64_t first_sample);

}  // namespace holdfast::device
