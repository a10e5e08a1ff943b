// Choice of the device a run computes on, and the process-wide arithmetic switches.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <string>

namespace holdfast::device {

/// "auto", "cpu", "cuda" or "cuda:N". "auto" takes a GPU where the build and a driver are there.
/// Throws Error 69 when the device does not exist or this build cannot use it; never falls back silently.
at::Device select(const std::string& name);

/// Only algorithms that give equal bits in equal runs; those that cannot throw. Process-wide.
void set_deterministic(bool on);

/// What only a CUDA device has: its caching allocator, its convolutions, its matrix units.
struct CudaSettings {
  bool expandable_segments = false;
  std::int64_t max_split_size = 0;  ///< bytes; larger free blocks are not split. 0: no limit
  bool cudnn_benchmark = false;     ///< tries algorithms and takes the fastest: not deterministic
  bool tf32 = false;                ///< float32 products in TF32: faster, 10 bits of mantissa
};
/// Before the first tensor on such a device. Process-wide. Throws what LibTorch says of a setting that it cannot do.
void set_cuda(const CudaSettings& settings);

}  // namespace holdfast::device
