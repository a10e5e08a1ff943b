// A run has a few dozen names: a linear search is quicker than a map.
#include "device/phase_memory.hpp"

#include <algorithm>

namespace holdfast::device {

void PhaseMemory::Scope::begin(std::string_view name) {
  auto& rows = memory_->rows_;
  const auto found = std::ranges::find(rows, name, &PhaseFigures::name);
  row_ = static_cast<std::size_t>(found - rows.begin());
  if (found == rows.end()) rows.emplace_back().name = name;
  entry_ = memory_->meter_.reading().allocated;
  outer_ = memory_->meter_.open_peak();
}

void PhaseMemory::Scope::end() noexcept {
  const std::int64_t peak = memory_->meter_.close_peak(outer_);
  PhaseFigures& row = memory_->rows_[row_];
  ++row.times;
  row.peak = std::max(row.peak, peak);
  row.rise = std::max(row.rise, peak - entry_);
  row.kept = memory_->meter_.reading().allocated - entry_;
}

}  // namespace holdfast::device
