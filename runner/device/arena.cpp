// Best fit with immediate joining; all bookkeeping stands inside the memory itself, so nothing here can fail.
#include "device/arena.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace holdfast::device {
namespace {

constexpr std::size_t kLargestGrowth = std::size_t{64} << 20;
constexpr int kLooks = 32;  // blocks compared before the best so far is taken: keeps the worst case short

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

std::size_t Arena::bin_of(std::size_t bytes) noexcept {
  return static_cast<std::size_t>(std::bit_width(bytes / kGranule)) - 1;
}

void Arena::link(Block* block) noexcept {
  const std::size_t bin = bin_of(block->bytes);
  block->state = Block::State::kFree;
  block->previous = nullptr;
  block->next = bins_[bin];
  if (block->next) block->next->previous = block;
  bins_[bin] = block;
  filled_ |= std::uint64_t{1} << bin;
}

void Arena::unlink(Block* block) noexcept {
  const std::size_t bin = bin_of(block->bytes);
  if (block->next) block->next->previous = block->previous;
  if (block->previous)
    block->previous->next = block->next;
  else
    bins_[bin] = block->next;
  if (!bins_[bin]) filled_ &= ~(std::uint64_t{1} << bin);
}

Block* Arena::best_in(std::size_t bin, std::size_t bytes) const noexcept {
  Block* best = nullptr;
  int looks = kLooks;
  for (Block* block = bins_[bin]; block && looks > 0; block = block->next, --looks)
    if (block->bytes >= bytes && (!best || block->bytes < best->bytes)) best = block;
  return best;
}

Block* Arena::take(std::size_t bytes) noexcept {
  const std::size_t own = bin_of(bytes);
  Block* block = best_in(own, bytes);
  if (!block) {
    const std::uint64_t larger = filled_ >> (own + 1);  // own is at most 41
    if (larger == 0) return nullptr;
    block = best_in(own + 1 + static_cast<std::size_t>(std::countr_zero(larger)), bytes);
  }
  unlink(block);
  reserved_ += block->counted;  // its pages come back at the first touch
  block->counted = 0;
  split(block, bytes);
  block->state = Block::State::kUsed;
  return block;
}

void Arena::split(Block* block, std::size_t bytes) noexcept {
  if (block->bytes - bytes < smallest_rest_) return;
  Block* const after = block->above();
  Block* const rest = new (block->begin() + bytes) Block;
  rest->bytes = block->bytes - bytes;
  rest->below = block;
  block->bytes = bytes;
  after->below = rest;
  link(rest);
}

void Arena::give(Block* block) noexcept {
  block->counted = 0;
  if (Block* above = block->above(); above->state == Block::State::kFree) {
    unlink(above);
    block->bytes += above->bytes;
    block->counted += above->counted;
  }
  if (Block* below = block->below; below && below->state == Block::State::kFree) {
    unlink(below);
    below->bytes += block->bytes;
    below->counted += block->counted;
    block = below;
  }
  block->above()->below = block;
  link(block);
}

std::size_t Arena::growth(std::size_t bytes) const noexcept {
  const std::size_t usual = std::clamp(round_up(reserved_ / 4, kHugePage), first_segment_, kLargestGrowth);
  return std::max(round_up(bytes + sizeof(Block), kHugePage), usual);
}

bool Arena::grow(std::size_t bytes, bool lean) noexcept {
  const std::size_t least = round_up(bytes + sizeof(Block), kHugePage);
  std::size_t size = lean ? least : growth(bytes);
  void* begin = pages_.map(size);
  if (!begin && size > least) begin = pages_.map(size = least);  // the system may still have enough for this one
  if (!begin) return false;
  reserved_ += size;
  Block* const block = new (begin) Block;
  block->bytes = size - sizeof(Block);
  Block* const end = new (block->above()) Block;
  end->below = block;
  end->state = Block::State::kEnd;
  link(block);
  return true;
}

void Arena::release() noexcept {
  for (Block* first : bins_) {
    for (Block *block = first, *next = nullptr; block; block = next) {
      next = block->next;
      if (block->below || block->above()->state != Block::State::kEnd) {
        discard_inside(block);
        continue;
      }
      unlink(block);
      const std::size_t size = block->bytes + sizeof(Block);
      reserved_ -= size - block->counted;
      pages_.unmap(block, size);
    }
  }
}

void Arena::discard_inside(Block* block) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(block->data());
  const std::size_t first = round_up(begin, kHugePage) - begin + sizeof(Block);
  if (first >= block->bytes) return;
  const std::size_t inside = (block->bytes - first) / kHugePage * kHugePage;
  if (inside <= block->counted) return;
  pages_.discard(block->begin() + first, inside);
  reserved_ -= inside - block->counted;
  block->counted = inside;
}

}  // namespace holdfast::device
