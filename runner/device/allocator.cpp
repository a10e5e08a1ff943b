// The data pointer is its own context, as raw_allocate demands; the block's header says where it came from.
#include "device/allocator.hpp"

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include "device/domain_pool.hpp"

namespace holdfast::device {
namespace {

class DeviceFull : public c10::OutOfMemoryError {
 public:
  DeviceFull(const MemoryExhausted& refusal, c10::SourceLocation where)
      : c10::OutOfMemoryError(where, refusal.what()), over_budget(refusal.over_budget()) {}
  bool over_budget;
};

class DeviceAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const Domain domain = current_domain();
    void* data = domain == Domain::kDevice ? from_device(bytes) : pool_of(domain).allocate(bytes);
    return {data, data, &Pool::free, c10::Device(c10::DeviceType::CPU)};
  }
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &Pool::free; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  static void* from_device(std::size_t bytes) {
    try {
      return pool_of(Domain::kDevice).allocate(bytes);
    } catch (const MemoryExhausted& refusal) {
      throw DeviceFull(refusal, {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)});
    }
  }
};

}  // namespace

void install_allocator() {
  static DeviceAllocator& allocator = *new DeviceAllocator;  // tensors outlive static objects
  c10::SetCPUAllocator(&allocator);
}

bool is_over_budget(const std::exception& failure) {
  if (const auto* full = dynamic_cast<const DeviceFull*>(&failure)) return full->over_budget;
  const auto* host = dynamic_cast<const MemoryExhausted*>(&failure);
  return host && host->over_budget();
}

}  // namespace holdfast::device
