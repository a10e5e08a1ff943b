// Two runs of one function: the first numbers what it saves, the second fills the numbers.
#include "engine/recompute.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <utility>

namespace holdfast::engine {
namespace {

/// Leaves the second run at the last saved tensor. No std::exception, so that no handler of a model takes it for one.
struct AllRecorded {};

class Inside {
 public:
  explicit Inside(bool& flag) : flag_(flag), before_(std::exchange(flag, true)) {}
  ~Inside() { flag_ = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool& flag_;
  bool before_;
};

std::string text_of(at::ScalarType dtype, at::IntArrayRef sizes) {
  std::string text = std::string(c10::toString(dtype)) + " [";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

}  // namespace

/// One saved tensor of the first run.
class SegmentPlace : public device::SavedTensor {
 public:
  explicit SegmentPlace(std::shared_ptr<RecomputedSegment> segment) : segment_(std::move(segment)) {}
  ~SegmentPlace() override {
    if (numbered_) segment_->drop(index_);
  }
  void keep(const at::Tensor& tensor) override {
    if (segment_->setting_.fixed.holds(tensor)) {
      fixed_ = KeptTensor(tensor);
    } else {
      index_ = segment_->add(tensor);
      numbered_ = true;
    }
  }
  at::Tensor give() override { return numbered_ ? segment_->slot(index_) : fixed_.get(segment_->where_); }
  [[nodiscard]] Where where() const override { return numbered_ ? Where::kNowhere : Where::kDevice; }

 private:
  std::shared_ptr<RecomputedSegment> segment_;
  KeptTensor fixed_;
  std::size_t index_ = 0;
  bool numbered_ = false;
};

/// Hands what the second run saves to the segment, and keeps it for gradients taken within that run.
class RecomputedSegment::Recorder : public device::SavedTensors {
 public:
  explicit Recorder(RecomputedSegment& segment) : segment_(segment) {}
  std::unique_ptr<device::SavedTensor> next() override { return std::make_unique<Place>(segment_); }

 private:
  struct Place : KeptPlace {
    explicit Place(RecomputedSegment& s) : KeptPlace(s.where_), segment(s) {}
    void keep(const at::Tensor& tensor) override {
      KeptPlace::keep(tensor);
      if (!segment.setting_.fixed.holds(tensor)) segment.record(tensor);
    }
    RecomputedSegment& segment;
  };
  RecomputedSegment& segment_;
};

RecomputedSegment::RecomputedSegment(const RecomputeSetting& setting, std::string name)
    : setting_(setting),
      name_(std::move(name)),
      where_("segment '" + name_ + "'"),
      verify_(!setting.verified.contains(name_)) {}

std::vector<at::Tensor> RecomputedSegment::run(const Segments::Function& fn, std::vector<at::Tensor> inputs,
                                               device::SavedTensors* inputs_by) {
  const auto kind = setting_.device.type();
  random_ = device::RandomState::now(setting_.device);
  autocast_ = device::autocast_state(kind);
  autocast_.cache = false;  // a weight cast outside would belong to another graph than that of the second run
  buffers_ = setting_.buffers.take();
  const auto versions = setting_.buffers.versions();
  fn_ = fn;
  const std::vector<KeptTensor> given(inputs.begin(), inputs.end());
  keep_inputs(inputs, inputs_by);
  std::vector<at::Tensor> outputs;
  {
    const Inside inside(setting_.inside);
    const device::AutocastScope autocast(kind, autocast_);
    const device::SavedTensorsScope saved(this);
    running_ = true;
    outputs = fn(inputs);
    running_ = false;
  }
  for (const auto& input : given)
    if (!input.unchanged()) refuse("it changes an input in place, so it cannot be run again for the backward pass");
  if (const auto name = setting_.buffers.changed_since(versions); !name.empty())
    refuse("it changes the buffer '" + name + "', which is too large to be kept for a second run");
  if (verify_ && !slots_.empty()) outputs_ = std::vector<KeptTensor>(outputs.begin(), outputs.end());
  return outputs;
}

void RecomputedSegment::keep_inputs(const std::vector<at::Tensor>& inputs, device::SavedTensors* inputs_by) {
  const at::NoGradGuard no_grad;
  for (const auto& input : inputs) {
    Input kept;
    if (input.defined()) {
      if (inputs_by) kept.place = inputs_by->next();
      if (!kept.place) kept.place = std::make_unique<KeptPlace>(where_);
      device::keep_watched(input, *kept.place);
      kept.requires_grad = input.requires_grad();
    }
    inputs_.push_back(std::move(kept));
  }
}

std::vector<at::Tensor> RecomputedSegment::inputs_again() {
  std::vector<at::Tensor> inputs;
  for (const auto& kept : inputs_) {
    inputs.emplace_back();
    if (kept.place) inputs.back() = kept.place->give().detach().requires_grad_(kept.requires_grad);
  }
  return inputs;
}

std::unique_ptr<device::SavedTensor> RecomputedSegment::next() {
  return std::make_unique<SegmentPlace>(shared_from_this());
}

std::size_t RecomputedSegment::add(const at::Tensor& tensor) {
  slots_.push_back({tensor.sizes().vec(), tensor.scalar_type(), {}, false});
  saved_bytes_ += static_cast<std::int64_t>(tensor.nbytes());
  return slots_.size() - 1;
}

const at::Tensor& RecomputedSegment::slot(std::size_t index) {
  if (running_) refuse("it takes a gradient inside its forward, so it cannot be run again for the backward pass");
  if (!recomputed_) recompute();
  return slots_[index].kept.get(where_);
}

void RecomputedSegment::recompute() {
  const auto self = shared_from_this();  // freeing the second run's graph may free the last place but this one
  recorded_ = 0;
  if (setting_.watch) setting_.watch->recompute_begins();
  try {
    run_again();
  } catch (const AllRecorded&) {
  }
  if (setting_.watch) setting_.watch->recompute_ends();
  if (recorded_ != slots_.size())
    refuse("the number of tensors that it saves was " + std::to_string(slots_.size()) + " at first and " +
           std::to_string(recorded_) + " when it ran again for the backward pass");
  if (verify_) setting_.verified.insert(name_);
  recomputed_ = true;
  inputs_.clear();
  outputs_.clear();
  buffers_.clear();
  fn_ = nullptr;
}

void RecomputedSegment::run_again() {
  const device::RandomScope random(random_, setting_.device);
  const device::AutocastScope autocast(setting_.device.type(), autocast_);
  const BufferStates::Scope buffers(setting_.buffers, buffers_);
  const Inside inside(setting_.inside);
  const at::AutoGradMode grad_mode(true);
  Recorder recorder(*this);
  const device::SavedTensorsScope saved(&recorder);
  const auto outputs = fn_(inputs_again());
  if (verify_) compare(outputs);
}

void RecomputedSegment::record(const at::Tensor& tensor) {
  const std::size_t index = recorded_++;
  if (index >= slots_.size()) return;  // counted to the end, and told then
  Slot& slot = slots_[index];
  if (tensor.scalar_type() != slot.dtype || tensor.sizes() != at::IntArrayRef(slot.sizes))
    refuse("tensor " + std::to_string(index + 1) + " that it saves was " + text_of(slot.dtype, slot.sizes) +
           " at first and is " + text_of(tensor.scalar_type(), tensor.sizes()) +
           " when it runs again for the backward pass");
  slot.kept = KeptTensor(tensor);
  if (!verify_ && recorded_ == slots_.size()) throw AllRecorded{};
}

void RecomputedSegment::compare(const std::vector<at::Tensor>& outputs) const {
  if (recorded_ != slots_.size()) return;
  bool same = outputs.size() == outputs_.size();
  for (std::size_t i = 0; same && i < outputs.size(); ++i) {
    if (!outputs_[i].unchanged()) continue;  // a later segment wrote into it
    const at::Tensor first = outputs_[i].get(where_), again = outputs[i].detach();
    same = first.defined() == again.defined();
    if (same && first.defined())
      same = first.sizes() == again.sizes() && first.dtype() == again.dtype() &&
             (at::equal(first, again) || at::equal(first.nan_to_num(), again.nan_to_num()));
  }
  if (!same) refuse("it gave other outputs when it ran again for the backward pass");
}

void RecomputedSegment::refuse(const std::string& what) const {
  throw Error(ExitCode::kBug, "model.segment", where_, what,
              "a segment does the same each time: it takes random numbers from LibTorch's default generators alone, "
              "depends on no counter and changes no input; or leave it out of the strategy");
}

}  // namespace holdfast::engine
