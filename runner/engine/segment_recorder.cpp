// Intervals, one after the other, each with an owner.
#include "engine/segment_recorder.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace holdfast::engine {

SegmentTrace& SegmentRecorder::trace(std::int64_t owner) {
  MicroBatchTrace& now = traces_.back();
  return owner == kOutside ? now.outside : now.segments[static_cast<std::size_t>(owner)];
}

void SegmentRecorder::open(std::int64_t owner) {
  owner_ = owner;
  recompute_ = {};
  entry_ = meter_.reading().allocated;
  outer_ = meter_.open_peak();
  open_ = true;
  since_ = Clock::now();
}

void SegmentRecorder::close() noexcept {
  if (!std::exchange(open_, false)) return;
  const auto took = std::chrono::duration_cast<Duration>(Clock::now() - since_);
  const std::int64_t peak = meter_.close_peak(outer_);
  MicroBatchTrace& now = traces_.back();
  SegmentTrace& mine = trace(owner_);
  std::int64_t& highest = backward_ ? now.backward_peak : now.forward_peak;
  highest = std::max(highest, peak);
  std::int64_t& rise = backward_ ? mine.backward_rise : mine.forward_rise;
  rise = std::max(rise, peak - entry_);
  (backward_ ? mine.backward : mine.forward) += took - recompute_;
  mine.recompute += recompute_;
}

void SegmentRecorder::abandon() {
  close();
  if (census_) traces_.back().saved = census_->broken_off();
  census_.reset();
}

std::string SegmentRecorder::place() const {
  if (traces_.empty() || owner_ == kOutside) return {};
  return traces_.back().segments[static_cast<std::size_t>(owner_)].name;
}

std::int64_t SegmentRecorder::bytes_of(const std::vector<at::Tensor>& tensors) const {
  std::int64_t sum = 0;
  std::unordered_set<const c10::StorageImpl*> seen;
  for (const auto& tensor : tensors)
    if (tensor.defined() && !fixed_->holds(tensor) && seen.insert(tensor.storage().unsafeGetStorageImpl()).second)
      sum += static_cast<std::int64_t>(tensor.storage().nbytes());
  return sum;
}

template <class F>
void SegmentRecorder::at_gradient(const std::vector<at::Tensor>& tensors, F switch_to) {
  for (const auto& tensor : tensors)
    if (tensor.defined() && tensor.requires_grad() && !tensor.is_leaf())
      tensor.register_hook([switch_to](const at::Tensor&) { switch_to(); });
}

void SegmentRecorder::forward_begins(const Batch& batch, const FixedStorages& fixed) {
  fixed_ = &fixed;
  backward_ = false;
  traces_.emplace_back();
  traces_.back().samples = static_cast<std::int64_t>(batch.samples.size());
  traces_.back().before = meter_.reading().allocated;
  if (stock_) census_.emplace(fixed);
  open(kOutside);
}

void SegmentRecorder::segment_begins(std::string_view name, const std::vector<at::Tensor>& inputs) {
  close();
  const auto number = static_cast<std::int64_t>(traces_.back().segments.size());
  SegmentTrace& segment = traces_.back().segments.emplace_back();
  segment.name = name;
  segment.input_bytes = bytes_of(inputs);
  at_gradient(inputs, [this, number] {
    if (owner_ != number) return;  // the segment before begins with the same gradient, and is told first
    close();
    open(kOutside);
  });
  if (census_) census_->set_segment(number);
  open(number);
}

void SegmentRecorder::segment_ends(const std::vector<at::Tensor>& outputs, Trade trade) {
  close();
  const auto number = static_cast<std::int64_t>(traces_.back().segments.size()) - 1;
  SegmentTrace& segment = traces_.back().segments.back();
  segment.trade = trade;
  segment.output_bytes = bytes_of(outputs);
  at_gradient(outputs, [this, number] {
    if (owner_ == number) return;
    close();
    open(number);
  });
  if (census_) census_->set_segment(kOutside);
  open(kOutside);
}

void SegmentRecorder::forward_ends() {
  close();
  traces_.back().activations = meter_.reading().allocated - traces_.back().before;
  if (census_) traces_.back().saved = census_->end();
  census_.reset();
}

void SegmentRecorder::backward_begins() {
  backward_ = true;
  open(kOutside);
}

void SegmentRecorder::recompute_begins() { recompute_since_ = Clock::now(); }

void SegmentRecorder::recompute_ends() {
  recompute_ += std::chrono::duration_cast<Duration>(Clock::now() - recompute_since_);
}

void SegmentRecorder::backward_ends() {
  close();
  owner_ = kOutside;
}

}  // namespace holdfast::engine
