// The quick path is a list a size class under one lock; everything else happens when a list is empty.
#include "device/pool.hpp"

#include <algorithm>
#include <cstdio>

#include "base/text.hpp"

namespace holdfast::device {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kSmall = std::size_t{64} << 10;  // blocks up to here are cut from segments of their own
constexpr std::size_t kSlack = std::size_t{32} << 20;

std::int64_t of(const std::atomic<std::int64_t>& figure) { return figure.load(std::memory_order_relaxed); }
void set(std::atomic<std::int64_t>& figure, std::int64_t value) { figure.store(value, std::memory_order_relaxed); }

}  // namespace

MemoryExhausted::MemoryExhausted(Domain domain, std::int64_t wanted, std::int64_t held, std::int64_t budget)
    : over_budget_(budget > 0) {
  const char* name = domain == Domain::kDevice ? "device" : "host";
  const std::string asked = base::human_bytes(wanted);
  if (over_budget_)
    std::snprintf(text_.data(), text_.size(), "%s memory: wanted %s, free %s of the budget of %s", name, asked.c_str(),
                  base::human_bytes(std::max<std::int64_t>(0, budget - held)).c_str(),
                  base::human_bytes(budget).c_str());
  else
    std::snprintf(text_.data(), text_.size(), "%s memory: wanted %s, which the system does not give (%s in use)", name,
                  asked.c_str(), base::human_bytes(held).c_str());
}

Pool::Pool(Domain domain, Pages& pages)
    : domain_(domain), small_(pages, kHugePage, 2 * kGranule), large_(pages, 2 * kHugePage, 4096) {}

Pool::~Pool() { release(); }

void* Pool::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const auto wanted = static_cast<std::int64_t>(std::min(bytes, static_cast<std::size_t>(kNoLimit)));
  std::int64_t held = 0, limit = 0;
  bool over = false;
  {
    const std::lock_guard guard(mutex_);
    held = of(allocated_);
    limit = of(limit_);
    over = wanted > limit - held || (refuse_in_ > 0 && --refuse_in_ == 0);
    if (!over && bytes <= kLargestSize) {
      const std::size_t index = size_class(bytes);
      Block* block = kept_[index];
      if (block)
        kept_[index] = block->next;
      else
        block = refill(bytes, index);
      if (block) {
        block->state = Block::State::kUsed;
        block->counted = bytes;
        const std::int64_t now = held + wanted;
        set(allocated_, now);
        if (now > of(peak_)) set(peak_, now);
        set(allocations_, of(allocations_) + 1);
        if (detail::allocation_forbidden > 0 && domain_ == Domain::kDevice) set(forbidden_, of(forbidden_) + 1);
        return block->data();
      }
    }
  }
  // A refusal that was injected has no budget to name; it reads as one that is full.
  throw MemoryExhausted(domain_, wanted, held, !over ? 0 : limit == kNoLimit ? std::max<std::int64_t>(held, 1) : limit);
}

void Pool::free(void* data) noexcept {
  if (!data) return;
  Block* const block = Block::of(data);
  block->pool->put_back(block);
}

void Pool::put_back(Block* block) noexcept {
  const std::lock_guard guard(mutex_);
  set(allocated_, of(allocated_) - static_cast<std::int64_t>(block->counted));
  block->state = Block::State::kKept;
  block->next = kept_[block->size_class];
  kept_[block->size_class] = block;
}

Arena& Pool::arena_of(const Block& block) noexcept { return class_bytes(block.size_class) <= kSmall ? small_ : large_; }

Block* Pool::refill(std::size_t bytes, std::size_t index) noexcept {
  const std::size_t size = class_bytes(index), needed = size + sizeof(Block);
  Arena& arena = size <= kSmall ? small_ : large_;
  Block* block = arena.take(needed);
  if (!block) {
    const auto held = static_cast<std::size_t>(of(allocated_));
    const std::size_t most = std::max(static_cast<std::size_t>(std::max(of(highest_), of(peak_))), held + bytes);
    const std::size_t cap = most / 4 * 5 + kSlack;
    const bool over = small_.reserved() + large_.reserved() + arena.growth(needed) > cap;
    if (over) {
      drain();
      block = arena.take(needed);
      if (!block) release_locked();
    }
    if (!block) block = grown(arena, needed, over);
  }
  set(reserved_, static_cast<std::int64_t>(small_.reserved() + large_.reserved()));
  if (!block) return nullptr;
  block->pool = this;
  block->size_class = static_cast<std::uint16_t>(index);
  return block;
}

Block* Pool::grown(Arena& arena, std::size_t needed, bool lean) noexcept {
  if (arena.grow(needed, lean)) return arena.take(needed);
  release_locked();  // before the verdict: what is kept in other sizes counts against the system's limit too
  if (Block* block = arena.take(needed)) return block;
  return arena.grow(needed) ? arena.take(needed) : nullptr;
}

void Pool::drain() noexcept {
  for (Block*& first : kept_)
    while (Block* block = first) {
      first = block->next;
      arena_of(*block).give(block);
    }
}

void Pool::release_locked() noexcept {
  drain();
  small_.release();
  large_.release();
  set(reserved_, static_cast<std::int64_t>(small_.reserved() + large_.reserved()));
}

void Pool::release() noexcept {
  const std::lock_guard guard(mutex_);
  release_locked();
}

void Pool::set_budget(std::int64_t bytes) noexcept {
  const std::lock_guard guard(mutex_);
  set(limit_, bytes > 0 ? bytes : kNoLimit);
}

void Pool::refuse_after(std::int64_t n) noexcept {
  const std::lock_guard guard(mutex_);
  refuse_in_ = n;
}

MemoryReading Pool::reading() const noexcept {
  MemoryReading now;
  now.allocated = of(allocated_);
  now.reserved = of(reserved_);
  now.peak = std::max(of(highest_), of(peak_));
  now.budget = of(limit_) == kNoLimit ? 0 : of(limit_);
  now.allocations = of(allocations_);
  now.forbidden = of(forbidden_);
  return now;
}

std::int64_t Pool::open_peak() noexcept {
  const std::lock_guard guard(mutex_);
  const std::int64_t outer = of(peak_);
  set(highest_, std::max(of(highest_), outer));
  set(peak_, of(allocated_));
  return outer;
}

std::int64_t Pool::close_peak(std::int64_t outer) noexcept {
  const std::lock_guard guard(mutex_);
  const std::int64_t own = of(peak_);
  set(highest_, std::max(of(highest_), own));
  set(peak_, std::max(outer, own));
  return own;
}

}  // namespace holdfast::device
