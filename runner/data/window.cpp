// Arithmetic of windows and epochs.
#include "data/window.hpp"

#include <algorithm>

#include "data/permutation.hpp"

namespace holdfast::data {

WindowPlan::WindowPlan(std::int64_t samples, std::int64_t batch_size, bool drop_last)
    : samples_(samples),
      batch_size_(batch_size),
      windows_(drop_last ? samples / batch_size : (samples + batch_size - 1) / batch_size),
      dropped_(drop_last ? samples % batch_size : 0) {}

Window WindowPlan::at(std::int64_t number) const {
  Window window;
  window.number = number;
  window.epoch = number / windows_;
  const std::int64_t in_epoch = number % windows_;
  window.first = in_epoch * batch_size_;
  window.count = std::min(batch_size_, samples_ - window.first);
  window.epoch_end = in_epoch + 1 == windows_;
  return window;
}

std::vector<std::int64_t> indices_of(const Window& window, std::int64_t samples, bool shuffle, std::uint64_t seed) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(window.count));
  std::int64_t position = window.first;
  if (shuffle) {
    const Permutation order(samples, seed, window.epoch);
    for (auto& index : indices) index = order(position++);
  } else {
    for (auto& index : indices) index = position++;
  }
  return indices;
}

}  // namespace holdfast::data
