// A mapping larger by one huge page, trimmed to the alignment.
#include "device/pages.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <limits>

namespace holdfast::device {

void* SystemPages::map(std::size_t bytes) noexcept {
  if (bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - kHugePage) return nullptr;
  void* mapped = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapped);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before > 0) munmap(begin, before);
  if (before < kHugePage) munmap(begin + before + bytes, kHugePage - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);
  return begin + before;
}

void SystemPages::unmap(void* begin, std::size_t bytes) noexcept { munmap(begin, bytes); }

void SystemPages::discard(void* begin, std::size_t bytes) noexcept { madvise(begin, bytes, MADV_DONTNEED); }

}  // namespace holdfast::device
