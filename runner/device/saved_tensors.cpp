// autograd::Engine::get_default_saved_variable_hooks, asked at every saved tensor, answers with the top of a
// thread-local stack. The only file with headers of autograd's engine.
#include "device/saved_tensors.hpp"

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/saved_variable_hooks.h>

#include <utility>

namespace holdfast::device {
namespace {

thread_local SavedTensors* current = nullptr;
thread_local SavedTensorsWatch* watching = nullptr;

class Hooks final : public torch::autograd::SavedVariableHooks {
 public:
  explicit Hooks(std::unique_ptr<SavedTensor> place) : place_(std::move(place)) {}
  void call_pack_hook(const at::Tensor& tensor) override { keep_watched(tensor, *place_); }
  at::Tensor call_unpack_hook() override { return place_->give(); }

 private:
  std::unique_ptr<SavedTensor> place_;
};

class HookEngine final : public torch::autograd::Engine {
 public:
  static torch::autograd::Engine& instance() {
    static HookEngine& engine = *new HookEngine;  // its threads outlive static objects
    return engine;
  }
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    auto place = current ? current->next() : nullptr;
    if (!place && watching) place = watching->plain();
    return place ? std::make_unique<Hooks>(std::move(place)) : nullptr;
  }
};

void install() {
  static const bool installed = (torch::autograd::set_default_engine_stub(&HookEngine::instance), true);
  (void)installed;
}

}  // namespace

SavedTensorsScope::SavedTensorsScope(SavedTensors* saved) : before_(current) {
  install();
  current = saved;
}

SavedTensorsScope::~SavedTensorsScope() { current = before_; }

SavedTensorsWatchScope::SavedTensorsWatchScope(SavedTensorsWatch& watch) {
  install();
  watching = &watch;
}

SavedTensorsWatchScope::~SavedTensorsWatchScope() { watching = nullptr; }

void keep_watched(const at::Tensor& tensor, SavedTensor& place) {
  place.keep(tensor);
  if (watching) watching->saw(tensor, place);
}

void set_version(const at::Tensor& tensor, std::uint32_t version) {
  auto counter = tensor.unsafeGetTensorImpl()->version_counter();
  counter.set_version(version);
}

}  // namespace holdfast::device
