// Statistics of the aggregate pool; peaks of scopes by resetting the allocator's own and keeping the highest seen.
#include "device/cuda_memory.hpp"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "holdfast/error.hpp"

namespace holdfast::device {
namespace {

namespace caching = c10::cuda::CUDACachingAllocator;

std::int64_t total_memory(c10::DeviceIndex index) {
  const c10::cuda::CUDAGuard here(index);
  std::size_t free = 0, total = 0;
  const cudaError_t answer = cudaMemGetInfo(&free, &total);
  if (answer == cudaSuccess && total > 0) return static_cast<std::int64_t>(total);
  throw Error(ExitCode::kUnavailable, "device.unavailable", "run.device",
              "the memory of cuda:" + std::to_string(index) + " cannot be asked for: " + cudaGetErrorString(answer));
}

class CudaMeter final : public MemoryMeter {
 public:
  CudaMeter(c10::DeviceIndex index, std::int64_t budget) : index_(index), budget_(budget) {
    const std::int64_t total = total_memory(index);
    const double share = budget > 0 ? static_cast<double>(budget) / static_cast<double>(total) : 1.0;
    caching::setMemoryFraction(std::min(share, 1.0), index);
  }

  [[nodiscard]] MemoryReading reading() const noexcept override {
    MemoryReading now;
    const auto stats = caching::getDeviceStats(index_);
    now.allocated = stats.requested_bytes[kAggregate].current;
    now.reserved = stats.reserved_bytes[kAggregate].current;
    now.peak = std::max(highest_.load(std::memory_order_relaxed), stats.requested_bytes[kAggregate].peak);
    now.budget = budget_;
    now.allocations = stats.allocation[kAggregate].allocated;
    return now;
  }

  std::int64_t open_peak() noexcept override {
    const std::int64_t outer = own_peak();
    raise(outer);
    caching::resetPeakStats(index_);
    carried_ = 0;
    return outer;
  }

  std::int64_t close_peak(std::int64_t outer) noexcept override {
    const std::int64_t own = own_peak();
    raise(own);
    carried_ = std::max(own, outer);  // the allocator's peak cannot be set, only reset
    return own;
  }

 private:
  static constexpr auto kAggregate = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

  [[nodiscard]] std::int64_t own_peak() const {
    return std::max(carried_, std::int64_t{caching::getDeviceStats(index_).requested_bytes[kAggregate].peak});
  }
  void raise(std::int64_t peak) {
    highest_.store(std::max(highest_.load(std::memory_order_relaxed), peak), std::memory_order_relaxed);
  }

  const c10::DeviceIndex index_;
  const std::int64_t budget_;
  std::int64_t carried_ = 0;  // peak of closed scopes inside the open one
  std::atomic<std::int64_t> highest_ = 0;
};

}  // namespace

std::unique_ptr<MemoryMeter> cuda_meter(int index, std::int64_t budget) {
  return std::make_unique<CudaMeter>(static_cast<c10::DeviceIndex>(index), budget);
}

void release_cuda_caches() { caching::emptyCache(); }

}  // namespace holdfast::device
