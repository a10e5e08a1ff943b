// Memory of the system in large pieces, behind an interface so that tests can refuse it.
#pragma once

#include <cstddef>

namespace holdfast::device {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

class Pages {
 public:
  virtual ~Pages() = default;
  /// Fresh memory of `bytes` (a multiple of kHugePage), aligned to kHugePage; null when the system gives none.
  virtual void* map(std::size_t bytes) noexcept = 0;
  /// All of what one map() returned.
  virtual void unmap(void* begin, std::size_t bytes) noexcept = 0;
  /// Gives the pages of a part back and keeps the addresses: the content is lost. Multiples of kHugePage.
  virtual void discard(void* begin, std::size_t bytes) noexcept = 0;
};

/// mmap, with transparent huge pages where the system lets a program ask for them (madvise(2), MADV_HUGEPAGE).
class SystemPages : public Pages {
 public:
  void* map(std::size_t bytes) noexcept override;
  void unmap(void* begin, std::size_t bytes) noexcept override;
  void discard(void* begin, std::size_t bytes) noexcept override;
};

}  // namespace holdfast::device
