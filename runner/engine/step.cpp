// One update, in order: weigh, forward and backward per micro-batch, check, clip, apply.
#include "engine/step.hpp"

#include <ATen/ATen.h>

#include <cmath>
#include <optional>
#include <utility>

#include "base/plugin_guard.hpp"
#include "device/anomaly.hpp"
#include "device/autocast.hpp"
#include "device/domain.hpp"
#include "device/out_of_memory.hpp"
#include "device/phase_memory.hpp"
#include "device/random.hpp"
#include "engine/lap.hpp"
#include "engine/precision.hpp"
#include "engine/traded_segments.hpp"
#include "engine/weighing.hpp"

namespace holdfast::engine {
namespace {

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kUpdate:
      return "update";
    default:
      return "micro-batch";
  }
}

}  // namespace

Step::Step(const TrainerParts& parts, const StepPlan& plan, const LossScale& loss_scale, NamedTensors parameters,
           optim::Optimizer& optimizer)
    : model_(*parts.model),
      parts_(parts),
      plan_(plan),
      loss_scale_(loss_scale),
      optimizer_(optimizer),
      phases_(parts.strategies),
      gradients_(parameters),
      buffers_(parts.model->buffers()),
      split_(parameters.empty() ? at::Device(at::kCPU) : parameters.front().tensor.device()),
      sampler_(parts.meter, parts.sample_every),
      device_(parameters.empty() ? at::Device(at::kCPU) : parameters.front().tensor.device()),
      segments_(std::make_unique<TradedSegments>(plan, model_)) {
  for (const auto& named : parts.strategies) {
    if (named.strategy->transforms_loss()) transformers_.push_back(named);
    if (named.strategy->judges_gradients()) judges_.push_back(named);
  }
}

Step::~Step() = default;
KnownSegments Step::known_segments() const { return segments_->known(); }
void Step::recall(KnownSegments known) { segments_->recall(std::move(known)); }
std::int64_t Step::outermost_segments() const { return segments_->outermost(); }

void Step::watch(SegmentWatch* watch) { segments_->watch(watch); }

StepResult Step::attempt(const Batch& window, const UpdateInfo& update) {
  const auto micro_batches = split_(window, plan_.micro_batch_size.value);
  place_ = {Phase::kAttempt, update.number, 0, static_cast<std::int64_t>(micro_batches.size())};
  const auto attempt_scopes = enter(Phase::kAttempt);

  StepResult result;
  result.weight = weigh(model_, micro_batches, "dataset.train");  // W of the whole window, before the first forward
  if (result.weight == 0) return drop(result, Fate::kEmpty);

  at::Tensor loss_sum;
  for (const Batch& batch : micro_batches) {
    if (place_.micro_batch > 0 && parts_.stop && parts_.stop->asked()) return drop(result, Fate::kAbandoned);
    device::seed_generators(parts_.settings.seed, update.number, batch.samples.front().index);
    const auto micro_scopes = enter(Phase::kMicroBatch);
    const MemorySampler::Scope sampled(sampler_);
    Lap lap;
    const at::Tensor loss = forward(batch);
    result.times.forward += lap();
    backward(loss, loss_scale_.at(update.number) / result.weight);
    result.times.backward += lap();
    loss_sum = loss_sum.defined() ? loss_sum + loss.detach() : loss.detach();
    ++place_.micro_batch;
  }

  // One rank: W and the gradients are those of the whole window. With more, this is where they are reduced.
  const auto update_scopes = enter(Phase::kUpdate);
  Lap lap;
  std::optional<device::PhaseMemory::Scope> measured(std::in_place, parts_.phase_memory, "prepare");
  gradients_.divide(loss_scale_.at(update.number));
  const auto gradient = gradients_.measure();
  result.loss = loss_sum.item<double>() / result.weight;  // the one read of a number from the device
  result.grad_norm = gradient.norm;
  const bool finite = gradient.finite && std::isfinite(result.loss);
  if (objection_) result.judge = objection_(result, finite);
  if (!finite) return drop(result, Fate::kNonFinite);
  if (!result.judge.empty() || vetoed(result.judge)) return drop(result, Fate::kVetoed);
  if (const auto& max = parts_.settings.clip_grad_norm) gradients_.clip(gradient.norm, *max);
  optimizer_.prepare();  // may allocate, may fail
  result.times.prepare = lap();
  measured.emplace(parts_.phase_memory, "update");
  {
    const device::NoAllocationScope promised;
    optimizer_.commit(update.learning_rate);  // neither
  }
  gradients_.clear();
  result.times.update = result.times.prepare + lap();
  return result;
}

OpenScopes Step::enter(Phase phase) {
  place_.phase = phase;
  return phases_.enter(place_);
}

at::Tensor Step::forward(const Batch& batch) {
  const device::PhaseMemory::Scope measured(parts_.phase_memory, "forward");
  const auto scopes = enter(Phase::kForward);
  const base::PluginCallScope running("model", "forward");
  // Without kept casts a weight used twice has the same bits of gradient whichever of its uses is computed again.
  const device::AutocastScope reduced(device_.type(), {autocast_dtype(precision_at(plan_, place_.update)), false});
  const auto saved = segments_->begin(batch);
  at::Tensor loss = model_.loss(model_.forward(batch, *segments_), batch);
  for (const auto& named : transformers_) loss = named.strategy->transform_loss(std::move(loss), place_);
  segments_->end();
  if (!loss.defined() || loss.numel() != 1 || !loss.requires_grad())
    throw Error(ExitCode::kBug, "model.loss", "model", "loss() must give one number that depends on a parameter",
                "sum over the units of the batch, and check that a parameter requires a gradient");
  if (loss.scalar_type() == at::kHalf || loss.scalar_type() == at::kBFloat16)
    loss = loss.to(at::kFloat);  // holds S / W
  return loss.dim() == 0 ? loss : loss.reshape({});
}

void Step::backward(const at::Tensor& loss, double scale) {
  const device::PhaseMemory::Scope measured(parts_.phase_memory, "backward");
  const auto scopes = enter(Phase::kBackward);
  const base::PluginCallScope running("model", "backward");
  // S / W enters as the gradient of the loss: the bits of a scaled loss without its graph node.
  if (!scale_.defined() || scale_.scalar_type() != loss.scalar_type() || scale_value_ != scale) {
    scale_ = at::full({}, scale, loss.options().requires_grad(false));
    scale_value_ = scale;
  }
  if (auto* watch = segments_->watch()) watch->backward_begins();
  loss.backward(scale_);
  if (auto* watch = segments_->watch()) watch->backward_ends();
}

bool Step::vetoed(std::string& judge) {
  if (judges_.empty()) return false;
  const NamedTensors gradients = gradients_.named();
  for (const auto& named : judges_) {
    if (named.strategy->judge(gradients, place_) != Verdict::kDrop) continue;
    judge = named.table + " judged against it";
    return true;
  }
  return false;
}

StepResult Step::drop(StepResult result, Fate fate) {
  if (fate != Fate::kEmpty) roll_back();
  result.fate = fate;
  return result;
}

void Step::roll_back() {
  gradients_.clear();
  buffers_.restore();
}

std::variant<StepResult, OomReport> Step::run(const Batch& window, const UpdateInfo& update) {
  OomReport report;
  buffers_.take();
  place_ = PhaseInfo{Phase::kMicroBatch, update.number, 0, 1};
  try {
    return attempt(window, update);
  } catch (const std::exception& failure) {
    roll_back();
    if (!device::is_device_out_of_memory(failure, report.text)) rethrow_named(failure);
  }
  // The exception is gone here, and with it the tensors that it held.
  report.update = update.number;
  report.phase = name_of(place_.phase);
  report.micro_batch = place_.micro_batch;
  return report;
}

void Step::rethrow_named(const std::exception& failure) const {
  if (dynamic_cast<const Error*>(&failure)) throw;
  const std::string place = std::string(name_of(place_.phase)) + " of update " + std::to_string(place_.update) +
                            ", micro-batch " + std::to_string(place_.micro_batch);
  if (const auto* shortage = dynamic_cast<const std::bad_alloc*>(&failure)) {
    const auto [text, hint] = device::host_shortage(*shortage);
    throw Error(ExitCode::kHostOutOfMemory, "memory.host", place, text, hint);
  }
  if (const std::string text = device::sentence_of(failure); device::is_anomaly(text))
    throw Error(ExitCode::kDiverged, "model.anomaly", place, text,
                "run.anomaly_mode found where the first NaN of the backward pass comes from");
  throw Error(ExitCode::kBug, "model.exception", place, device::sentence_of(failure));
}

}  // namespace holdfast::engine
