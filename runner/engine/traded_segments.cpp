// One decision a segment and forward.
#include "engine/traded_segments.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace holdfast::engine {
namespace {

at::Device device_of(const NamedTensors& parameters) {
  return parameters.empty() ? at::Device(at::kCPU) : parameters.front().tensor.device();
}

class Deeper {
 public:
  explicit Deeper(std::int64_t& depth) : depth_(depth) { ++depth_; }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  std::int64_t& depth_;
};

}  // namespace

TradedSegments::TradedSegments(const StepPlan& plan, Model& model)
    : plan_(plan),
      buffers_(model.buffers()),
      setting_{fixed_, buffers_, device_of(model.parameters()), inside_, verified_, nullptr} {
  fixed_.add(model.parameters());
  fixed_.add(model.buffers());
}

void TradedSegments::follow(Selection& selection, const PlanField<std::vector<std::string>>& field, const char* what,
                            const LargestSegments& recalled) {
  if (selection.entries() == field.value) return;
  selection = Selection(field.owner, what, field.value);
  if (recalled.entries == field.value && !recalled.names.empty()) selection.recall(recalled.names);
}

device::SavedTensorsScope TradedSegments::begin(const Batch& batch) {
  follow(recompute_, plan_.recompute, "recompute", recalled_.recompute);
  follow(offload_, plan_.offload, "offload", recalled_.offload);
  fixed_.set_batch(batch);
  offloading_.begin(plan_.offload_min_bytes.value);
  met_.clear();
  outermost_ = 0;
  if (setting_.watch) setting_.watch->forward_begins(batch, fixed_);
  return device::SavedTensorsScope(offload_.everything() ? &offloading_ : nullptr);
}

void TradedSegments::end() {
  if (setting_.watch) setting_.watch->forward_ends();
  if (!recompute_.empty() && !recompute_.learned()) recompute_.learn(met_);
  if (!offload_.empty() && !offload_.everything() && !offload_.learned()) offload_.learn(met_);
  most_ = std::max(most_, outermost_);
  if (most_ == 0) most_ = -1;
  const auto last = std::ranges::find(met_.rbegin(), met_.rend(), true, &SegmentSize::outermost);
  last_ = last == met_.rend() ? std::string() : last->name;
}

bool TradedSegments::recomputed(std::string_view name, std::int64_t place) const {
  return recompute_.chooses(name, place) && (name != last_ || recompute_.names(name));
}

std::vector<at::Tensor> TradedSegments::run_list(std::string_view name, const Function& fn,
                                                 std::vector<at::Tensor> inputs) {
  if (inside_ || !at::GradMode::is_enabled()) return fn(inputs);
  if (trades() && std::ranges::find(met_, name, &SegmentSize::name) != met_.end())
    throw Error(ExitCode::kBug, "model.segment_name", "segment '" + std::string(name) + "'",
                "it runs twice in one forward, so its name tells nothing", "give each run of a segment its own name");
  const std::int64_t place = depth_ == 0 ? outermost_++ : -1;
  SegmentSize& segment = met_.emplace_back(SegmentSize{std::string(name), 0, place >= 0});
  const Deeper deeper(depth_);
  const Trade trade{recomputed(name, place), offload_.chooses(name, place)};
  SegmentWatch* const watch = place >= 0 ? setting_.watch : nullptr;
  if (watch) watch->segment_begins(name, inputs);
  auto outputs = traded(segment, trade, fn, std::move(inputs));
  if (watch) watch->segment_ends(outputs, trade);
  return outputs;
}

std::vector<at::Tensor> TradedSegments::traded(SegmentSize& segment, Trade trade, const Function& fn,
                                               std::vector<at::Tensor> inputs) {
  if (trade.offloaded) offloading_.set_place("segment '" + segment.name + "'");
  if (trade.recomputed) return recompute(segment, fn, std::move(inputs), trade.offloaded);
  return trade.offloaded && !offload_.everything() ? offload(segment, fn, inputs) : fn(inputs);
}

std::vector<at::Tensor> TradedSegments::recompute(SegmentSize& segment, const Function& fn,
                                                  std::vector<at::Tensor> inputs, bool offloads) {
  const auto run = std::make_shared<RecomputedSegment>(setting_, segment.name);
  auto outputs = run->run(fn, std::move(inputs), offloads ? &offloading_ : nullptr);
  segment.bytes = run->saved_bytes();
  return outputs;
}

std::vector<at::Tensor> TradedSegments::offload(SegmentSize& segment, const Function& fn,
                                                const std::vector<at::Tensor>& inputs) {
  const std::int64_t before = offloading_.bytes();
  std::vector<at::Tensor> outputs;
  {
    const device::SavedTensorsScope scope(&offloading_);
    outputs = fn(inputs);
  }
  segment.bytes = offloading_.bytes() - before;
  return outputs;
}

}  // namespace holdfast::engine
