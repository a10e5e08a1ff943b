// What one allocation and its free cost: the pool of holdfast against LibTorch's own way to the C library.
#include "device/pool.hpp"

#include <c10/core/CPUAllocator.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// Nanoseconds for one pair, best of several rounds.
template <class Pair>
double best_of(const Pair& pair, int times) {
  double best = 1e30;
  for (int round = 0; round < 15; ++round) {
    const auto began = Clock::now();
    for (int i = 0; i < times; ++i) pair();
    best = std::min(best, std::chrono::duration<double, std::nano>(Clock::now() - began).count() / times);
  }
  return best;
}

long faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

}  // namespace

int main() {
  holdfast::device::SystemPages pages;
  holdfast::device::Pool pool(holdfast::device::Domain::kDevice, pages);
  c10::Allocator& plain = *c10::GetDefaultCPUAllocator();
  std::printf("bytes        pool ns   LibTorch ns   touched: pool us   LibTorch us   faults a pair: pool   LibTorch\n");
  for (const std::size_t bytes :
       {std::size_t{64}, std::size_t{4096}, std::size_t{131072}, std::size_t{1} << 20, std::size_t{48} << 20}) {
    const auto ours = [&] { holdfast::device::Pool::free(pool.allocate(bytes)); };
    const auto theirs = [&] { plain.raw_deallocate(plain.raw_allocate(bytes)); };
    const auto touch = [&](void* data) {
      for (std::size_t at = 0; at < bytes; at += 4096) static_cast<volatile char*>(data)[at] = 1;
      return data;
    };
    const auto ours_touched = [&] { holdfast::device::Pool::free(touch(pool.allocate(bytes))); };
    const auto theirs_touched = [&] { plain.raw_deallocate(touch(plain.raw_allocate(bytes))); };
    const int touches = 20;
    ours_touched();
    long before = faults();
    const double ours_us = best_of(ours_touched, touches) / 1000;
    const double ours_faults = static_cast<double>(faults() - before) / (15 * touches);
    before = faults();
    const double theirs_us = best_of(theirs_touched, touches) / 1000;
    const double theirs_faults = static_cast<double>(faults() - before) / (15 * touches);
    std::printf("%-10zu %9.1f %13.1f %18.2f %13.2f %21.1f %10.1f\n", bytes, best_of(ours, 20000), best_of(theirs, 2000),
                ours_us, theirs_us, ours_faults, theirs_faults);
  }
}
