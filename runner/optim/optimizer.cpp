// Slots, groups and the state of optimizers.
#include "optim/optimizer.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <sstream>

#include "optim/single_thread.hpp"

namespace holdfast::optim {
namespace {

constexpr std::int64_t kWorthATeam = 16384;  // numbers in a tensor; one core updates them in about 5 microseconds

[[noreturn]] void unusable(const std::string& name, const std::string& what, const std::string& hint) {
  throw Error(ExitCode::kBug, "optimizer.unusable_tensor", "model", "parameter '" + name + "' " + what, hint);
}

std::string describe(const at::Tensor& tensor) {
  std::ostringstream text;
  text << c10::toString(tensor.scalar_type()) << ' ' << tensor.sizes();
  return text.str();
}

/// The gradient with the parameter's strides. Kernels walk both memories side by side; where a dimension has one entry
/// its stride says nothing, and LibTorch's convolutions leave another one there.
at::Tensor alongside(const at::Tensor& gradient, const at::Tensor& parameter, const std::string& name) {
  if (gradient.strides() == parameter.strides()) return gradient;
  for (std::int64_t i = 0; i < parameter.dim(); ++i)
    if (parameter.size(i) != 1 && gradient.stride(i) != parameter.stride(i))
      unusable(name, "has a gradient of other strides", "keep the memory format of a parameter unchanged");
  const at::NoGradGuard no_grad;
  return gradient.as_strided(parameter.sizes(), parameter.strides());
}

/// Beside the parameter: the same device, and the allocator that serves the thread now.
at::Tensor zeros(at::IntArrayRef sizes, at::IntArrayRef strides, at::TensorOptions options) {
  return at::empty_strided(sizes, strides, options).zero_();
}

[[noreturn]] void mismatch(const std::string& what) {
  throw Error(ExitCode::kBadRecipe, "optimizer.state_mismatch", "optimizer", what,
              "resume with the optimizer of the saved run, or start a new run");
}

}  // namespace

Optimizer::Optimizer(const NamedTensors& parameters, std::vector<MomentSpec> moments, double weight_decay,
                     bool decay_vectors)
    : source_(zeros), specs_(std::move(moments)), groups_{Group{weight_decay}, Group{0.0}} {
  for (const auto& [name, tensor] : parameters) {
    if (!tensor.requires_grad()) continue;
    if (!tensor.is_non_overlapping_and_dense())
      unusable(name, "is a view with gaps or overlaps", "make it contiguous where the model creates it");
    const bool decays = decay_vectors || tensor.dim() >= 2;
    slots_.push_back({name, tensor, decays ? 0u : 1u, {}});
    if (tensor.numel() > kWorthATeam) groups_[slots_.back().group].small = false;
  }
  for (auto& group : groups_) {
    group.parameters.reserve(slots_.size());
    group.gradients.reserve(slots_.size());
    group.moments.resize(specs_.size());
    for (auto& list : group.moments) list.reserve(slots_.size());
  }
}

std::vector<at::Tensor> Optimizer::new_moments(const Slot& slot, const MomentSource& source) const {
  const at::TensorOptions options = slot.parameter.options().requires_grad(false);
  std::vector<at::Tensor> made;
  for (const auto& spec : specs_)
    made.push_back(spec.scalar ? source({}, {}, options.dtype(at::kFloat))
                               : source(slot.parameter.sizes(), slot.parameter.strides(), options));
  return made;
}

// All or nothing: a failure half-way leaves the slot as it was.
void Optimizer::make_moments(Slot& slot) const {
  if (slot.moments.empty()) slot.moments = new_moments(slot, source_);
}

void Optimizer::place_moments(MomentSource source) {
  std::vector<std::vector<at::Tensor>> moved(slots_.size());
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].moments.empty()) continue;
    moved[i] = new_moments(slots_[i], source);
    for (std::size_t k = 0; k < moved[i].size(); ++k) moved[i][k].copy_(slots_[i].moments[k]);
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) slots_[i].moments.swap(moved[i]);
  for (auto& group : groups_)  // they hold the moments of the last update
    for (auto& list : group.moments) list.clear();
  source_ = std::move(source);
}

void Optimizer::let_go() {
  for (auto& group : groups_) {
    group.parameters.clear();
    group.gradients.clear();
    for (auto& list : group.moments) list.clear();
  }
}

void Optimizer::prepare() {
  let_go();
  try {
    take_gradients();
  } catch (...) {
    let_go();  // or the gradients would live until the next update, which needs their memory
    throw;
  }
}

void Optimizer::take_gradients() {
  for (auto& slot : slots_) {
    const at::Tensor& gradient = slot.parameter.grad();
    if (!gradient.defined()) continue;
    if (gradient.layout() != at::kStrided)
      unusable(slot.name, "has a sparse gradient", "use dense gradients (embedding: sparse = false)");
    at::Tensor aligned = alongside(gradient, slot.parameter, slot.name);
    make_moments(slot);
    Group& group = groups_[slot.group];
    group.parameters.push_back(slot.parameter);
    group.gradients.push_back(std::move(aligned));
    for (std::size_t i = 0; i < specs_.size(); ++i) group.moments[i].push_back(slot.moments[i]);
  }
}

void Optimizer::commit(double learning_rate) {
  const at::NoGradGuard no_grad;
  for (auto& group : groups_) {
    const SingleThread alone(group.small);
    if (!group.parameters.empty()) apply(group, learning_rate);
    group.gradients.clear();
  }
}

NamedTensors Optimizer::state() {
  NamedTensors result;
  for (auto& slot : slots_) {
    make_moments(slot);
    for (std::size_t i = 0; i < specs_.size(); ++i)
      result.push_back({slot.name + '.' + specs_[i].name, slot.moments[i]});
  }
  return result;
}

void Optimizer::restore(const NamedTensors& saved) {
  const NamedTensors mine = state();
  for (const auto& [name, tensor] : saved)
    if (!mine.find(name)) mismatch("the saved state holds '" + name + "', which this optimizer does not have");
  for (const auto& [name, tensor] : mine) {
    const at::Tensor* found = saved.find(name);
    if (!found) mismatch("the saved state lacks '" + name + "', which this optimizer needs");
    if (found->scalar_type() != tensor.scalar_type() || found->sizes() != tensor.sizes())
      mismatch("'" + name + "' was saved as " + describe(*found) + " and is now " + describe(tensor));
  }
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : mine) tensor.copy_(saved.get(name));
}

}  // namespace holdfast::optim
