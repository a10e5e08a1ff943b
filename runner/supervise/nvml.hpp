// NVIDIA's management library, opened by name when it is wanted: no header and no link. Knows no run.
#pragma once

#include <memory>

#include "supervise/record.hpp"
#include "supervise/system.hpp"

namespace holdfast::supervise {

/// Absent when libnvidia-ml.so.1 cannot be opened. Initialises it and shuts it down again.
Found<GpuReport> ask_nvml();

/// NVML held open for the samples of a recorder: the first GPU, and XID events since the beginning. One thread.
class GpuWatch {
 public:
  /// Null where there is no library. A library that fails gives its status with each sample.
  static std::unique_ptr<GpuWatch> open();
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;
  void sample(Gpu& into);

 private:
  struct Impl;
  explicit GpuWatch(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

}  // namespace holdfast::supervise
