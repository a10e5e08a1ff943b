// Cuts segments of the system's memory into blocks and joins freed neighbours again. Knows neither size classes nor
// counts; not thread-safe: a pool locks around it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/pages.hpp"
#include "device/size_class.hpp"

namespace holdfast::device {

class Pool;

/// Stands in the 64 bytes before the data. A segment is a row of blocks and ends in one of state kEnd.
struct alignas(kGranule) Block {
  enum class State : std::uint8_t { kFree, kKept, kUsed, kEnd };

  std::size_t bytes = 0;   ///< this header included
  Block* below = nullptr;  ///< neighbour in the segment; null: the first
  Block* next = nullptr;   ///< in the list of free blocks, or of blocks that a pool keeps
  Block* previous = nullptr;
  Pool* pool = nullptr;
  std::size_t counted = 0;  ///< used: bytes asked for. Free: bytes inside whose pages were given back
  std::uint16_t size_class = 0;
  State state = State::kFree;

  [[nodiscard]] std::byte* begin() { return reinterpret_cast<std::byte*>(this); }
  [[nodiscard]] void* data() { return this + 1; }
  [[nodiscard]] Block* above() { return reinterpret_cast<Block*>(begin() + bytes); }
  [[nodiscard]] static Block* of(void* data) { return static_cast<Block*>(data) - 1; }
};
static_assert(sizeof(Block) == kGranule);

class Arena {
 public:
  /// Segments begin with `first_segment` bytes and grow with what is held, up to 64 MiB, or as large as one block
  /// needs. A rest smaller than `smallest_rest` is left in the block.
  Arena(Pages& pages, std::size_t first_segment, std::size_t smallest_rest)
      : pages_(pages), first_segment_(first_segment), smallest_rest_(smallest_rest) {}

  /// A block of at least `bytes` (header included, a multiple of 64) out of what is free; null when nothing fits.
  Block* take(std::size_t bytes) noexcept;
  void give(Block* block) noexcept;
  /// What grow(bytes) would add.
  [[nodiscard]] std::size_t growth(std::size_t bytes) const noexcept;
  /// A new segment that take(bytes) fits in, `lean` with little more than that. False when the system refuses.
  bool grow(std::size_t bytes, bool lean = false) noexcept;
  /// Gives back all segments that are free as a whole, and the huge pages inside other free blocks.
  void release() noexcept;
  [[nodiscard]] std::size_t reserved() const noexcept { return reserved_; }

 private:
  static std::size_t bin_of(std::size_t bytes) noexcept;
  void link(Block* block) noexcept;
  void unlink(Block* block) noexcept;
  Block* best_in(std::size_t bin, std::size_t bytes) const noexcept;
  void split(Block* block, std::size_t bytes) noexcept;
  void discard_inside(Block* block) noexcept;

  Pages& pages_;
  const std::size_t first_segment_, smallest_rest_;
  std::array<Block*, 48> bins_{};  ///< free blocks by the power of two below their size
  std::uint64_t filled_ = 0;       ///< a bit for each bin that is not empty
  std::size_t reserved_ = 0;
};

}  // namespace holdfast::device
