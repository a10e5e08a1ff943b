// Classification of allocator failures.
#include "device/out_of_memory.hpp"

#include <ATen/ATen.h>

#include "device/pool.hpp"

namespace holdfast::device {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string sentence_of(const std::exception& failure) {
  if (const auto* error = dynamic_cast<const c10::Error*>(&failure)) return first_line(error->what_without_backtrace());
  return first_line(failure.what());
}

HostShortage host_shortage(const std::bad_alloc& failure) {
  const std::string less = "lower loader.prefetch or train.batch_size, or ";
  const auto* refusal = dynamic_cast<const MemoryExhausted*>(&failure);
  if (!refusal) return {"the host has no memory left", less + "use a machine with more memory"};
  return {refusal->what(),
          less + (refusal->over_budget() ? "raise memory.host_budget" : "use a machine with more memory")};
}

bool is_device_out_of_memory(const std::exception& failure, std::string& text) {
  const auto* full = dynamic_cast<const c10::OutOfMemoryError*>(&failure);
  // The plain CPU allocator has no exception of its own (c10/core/impl/alloc_cpu.cpp): its words are all there is.
  const auto* other = dynamic_cast<const c10::Error*>(&failure);
  if (!full &&
      !(other && std::string_view(other->what_without_backtrace()).find("DefaultCPUAllocator: can't allocate") !=
                     std::string_view::npos))
    return false;
  text = sentence_of(failure);
  return true;
}

}  // namespace holdfast::device
