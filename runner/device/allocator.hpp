// LibTorch's CPU memory from the pool of the calling thread's domain. The only place where LibTorch and pools meet.
#pragma once

#include <exception>

namespace holdfast::device {

/// From now on tensors on the CPU come from the pools of domain_pool.hpp; blocks of the allocator before stay valid and
/// go back to it. Once or more often, from any thread; for good. A full device domain is a c10::OutOfMemoryError, a
/// full host domain the pool's MemoryExhausted (a std::bad_alloc).
void install_allocator();

/// True when the budget of a domain refused, not the system.
bool is_over_budget(const std::exception& failure);

}  // namespace holdfast::device
