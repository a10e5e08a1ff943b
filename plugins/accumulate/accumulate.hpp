// The strategy "accumulate": splits a window into micro-batches. It only edits the plan; the loop does the rest.
#pragma once

#include <cstdint>
#include <string>

#include "holdfast/options.hpp"
#include "holdfast/strategy.hpp"

namespace holdfast::plugins {

/// Exact: the window's gradient is the same up to summation order, whatever the split.
class Accumulate : public Strategy {
 public:
  static void declare(OptionTable& options);
  /// Error 78 unless exactly one of the two options is given.
  Accumulate(const Options& options, const Context& context);
  /// Error 78 when the batch cannot be split so.
  void edit(PlanEditor& plan) override;

 private:
  [[nodiscard]] std::int64_t size_for(std::int64_t batch) const;

  std::string table_;
  std::int64_t micro_batch_size_ = 0;  ///< 0: from the number of micro-batches
  std::int64_t micro_batches_ = 0;
};

}  // namespace holdfast::plugins
