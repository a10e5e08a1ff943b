// Which samples make up which window of the run. Knows counts and positions, not samples. Torch-free.
#pragma once

#include <cstdint>
#include <vector>

namespace holdfast::data {

/// The samples of one update: positions [first, first + count) of the epoch's order.
struct Window {
  std::int64_t number = 0;  ///< since the start of the run: the data position that a checkpoint records
  std::int64_t epoch = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  bool epoch_end = false;
};

/// Cuts epochs of `samples` into windows of `batch_size`; the last one of an epoch may be smaller (C02).
class WindowPlan {
 public:
  /// With drop_last the incomplete window is left out, and `dropped_per_epoch` tells how many samples that costs.
  WindowPlan(std::int64_t samples, std::int64_t batch_size, bool drop_last);
  [[nodiscard]] std::int64_t samples() const { return samples_; }
  [[nodiscard]] std::int64_t windows_per_epoch() const { return windows_; }
  [[nodiscard]] std::int64_t dropped_per_epoch() const { return dropped_; }
  /// Any window of an endless run; windows_per_epoch() must not be 0.
  [[nodiscard]] Window at(std::int64_t number) const;

 private:
  std::int64_t samples_, batch_size_, windows_, dropped_;
};

/// The data set's indices at the positions of a window, in order; shuffled by (seed, epoch) or in file order.
std::vector<std::int64_t> indices_of(const Window&, std::int64_t samples, bool shuffle, std::uint64_t seed);

}  // namespace holdfast::data
