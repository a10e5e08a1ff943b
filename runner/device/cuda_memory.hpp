// The figures and the limit of a GPU's memory, from LibTorch's own caching allocator. Built with HOLDFAST_CUDA only.
#pragma once

#include <memory>

#include "device/memory_meter.hpp"

namespace holdfast::device {

/// Meter of CUDA device `index`, with `budget` bytes as the limit (0: none). The caching allocator limits what it
/// reserves, not what tensors ask for, so on a GPU rounding and kept blocks meet the budget as well; it empties its
/// caches before it throws c10::OutOfMemoryError. reading() takes the allocator's lock for a moment; `forbidden` is
/// always 0. Throws Error 69 when the device does not answer.
std::unique_ptr<MemoryMeter> cuda_meter(int index, std::int64_t budget);

/// Gives cached blocks of all GPUs back to the driver.
void release_cuda_caches();

}  // namespace holdfast::device
