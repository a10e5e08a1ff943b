// ModuleModel makes a holdfast::Model of any torch::nn::Module and a task. Optional, header-only, compiled in the
// plugin: includes torch/nn.
#pragma once

#include <torch/nn.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "holdfast/model.hpp"

namespace holdfast {

/// True when this module, as it stands, draws random numbers in training.
inline bool module_draws_random(const torch::nn::Module& module) {
  namespace nn = torch::nn;
  if (!module.is_training()) return false;
  if (const auto* d = module.as<nn::DropoutImpl>()) return d->options.p() > 0;
  if (const auto* d = module.as<nn::Dropout2dImpl>()) return d->options.p() > 0;
  if (const auto* d = module.as<nn::Dropout3dImpl>()) return d->options.p() > 0;
  if (const auto* d = module.as<nn::AlphaDropoutImpl>()) return d->options.p() > 0;
  if (const auto* d = module.as<nn::FeatureAlphaDropoutImpl>()) return d->options.p() > 0;
  if (const auto* a = module.as<nn::MultiheadAttentionImpl>()) return a->options.dropout() > 0;
  if (const auto* r = module.as<nn::RNNImpl>()) return r->options.dropout() > 0 && r->options.num_layers() > 1;
  if (const auto* r = module.as<nn::LSTMImpl>()) return r->options.dropout() > 0 && r->options.num_layers() > 1;
  if (const auto* r = module.as<nn::GRUImpl>()) return r->options.dropout() > 0 && r->options.num_layers() > 1;
  return module.as<nn::RReLUImpl>() || module.as<nn::FractionalMaxPool2dImpl>() ||
         module.as<nn::FractionalMaxPool3dImpl>();
}

/// True when this module, as it stands, mixes the samples of a micro-batch in training.
inline bool module_couples_batch(const torch::nn::Module& module) {
  namespace nn = torch::nn;
  const auto coupled = [&](const auto* norm) {
    return norm && (module.is_training() || !norm->options.track_running_stats());
  };
  return coupled(module.as<nn::BatchNorm1dImpl>()) || coupled(module.as<nn::BatchNorm2dImpl>()) ||
         coupled(module.as<nn::BatchNorm3dImpl>());
}

/// Net: a torch::nn::Module with one of
///   Outputs    forward(const Batch&, Segments&)          full control
///   at::Tensor forward(const at::Tensor&, Segments&)     "input" in, "output" out, marks segments
///   at::Tensor forward(const at::Tensor&)                "input" in, "output" out
/// Task: weight(batch), loss(outputs, batch), score(outputs, batch, scores), as in task.hpp.
///
/// Names are the module's dotted names ("block.0.weight"), in registration order. A tensor shared by two modules stands
/// once, under its first name. A frozen parameter (requires_grad false when asked) is state but not trained: it stands
/// among the buffers, so it is saved and restored, and no optimizer sees it.
template <class Net, class Task>
class ModuleModel : public Model {
 public:
  /// Each module's training flag of this moment is what `train(true)` gives back: freeze a BatchNorm in `eval()` first.
  ModuleModel(std::shared_ptr<Net> net, Task task) : net_(std::move(net)), task_(std::move(task)) {
    for (const auto& module : net_->modules()) {
      flags_.emplace_back(module, module->is_training());
      traits_.draws_random |= module_draws_random(*module);
      traits_.batch_coupled |= module_couples_batch(*module);
    }
    traits_.has_segments = kOutputsForward || kSegmentsForward;
  }

  [[nodiscard]] double weight(const Batch& batch) const override { return task_.weight(batch); }
  at::Tensor loss(const Outputs& outputs, const Batch& batch) override { return task_.loss(outputs, batch); }
  void score(const Outputs& outputs, const Batch& batch, Scores& scores) const override {
    task_.score(outputs, batch, scores);
  }
  Outputs forward(const Batch& batch, Segments& segments) override {
    if constexpr (kOutputsForward) {
      return net_->forward(batch, segments);
    } else {
      Outputs outputs;
      outputs.reserve(1);
      if constexpr (kSegmentsForward)
        outputs.push_back({field::kOutput, net_->forward(batch.fields.get(field::kInput), segments)});
      else
        outputs.push_back({field::kOutput, net_->forward(batch.fields.get(field::kInput))});
      return outputs;
    }
  }

  NamedTensors parameters() override { return collect(true); }
  NamedTensors buffers() override {
    NamedTensors state = collect(false);
    std::unordered_set<const c10::TensorImpl*> seen;
    for (const auto& entry : net_->named_buffers())
      if (seen.insert(entry.value().unsafeGetTensorImpl()).second) state.push_back({entry.key(), entry.value()});
    return state;
  }

  void train(bool training) override {
    if (!training) return net_->eval();
    for (const auto& [module, flag] : flags_)
      module->train(flag);  // outer modules first: inner ones have the last word
  }
  /// Found by walking the modules. Override when the net draws numbers or mixes samples by functions of its own.
  [[nodiscard]] Traits traits() const override { return traits_; }

  [[nodiscard]] Net& net() { return *net_; }
  [[nodiscard]] const Task& task() const { return task_; }

 private:
  static constexpr bool kOutputsForward =
      requires(Net& net, const Batch& batch, Segments& segments) { Outputs(net.forward(batch, segments)); };
  static constexpr bool kSegmentsForward =
      requires(Net& net, const at::Tensor& input, Segments& segments) { at::Tensor(net.forward(input, segments)); };

  NamedTensors collect(bool trained) const {
    NamedTensors found;
    std::unordered_set<const c10::TensorImpl*> seen;
    for (const auto& entry : net_->named_parameters())
      if (seen.insert(entry.value().unsafeGetTensorImpl()).second && entry.value().requires_grad() == trained)
        found.push_back({entry.key(), entry.value()});
    return found;
  }

  std::shared_ptr<Net> net_;
  Task task_;
  std::vector<std::pair<std::shared_ptr<torch::nn::Module>, bool>> flags_;
  Traits traits_;
};

}  // namespace holdfast
