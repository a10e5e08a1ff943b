// Through at::Generator, under its lock.
#include "device/random_state.hpp"

#include <ATen/ATen.h>

#include "device/domain.hpp"

namespace holdfast::device {

RandomState RandomState::now(at::Device device) {
  const HostScope host;  // no activation: it must not meet the device's budget
  RandomState state;
  state.generators_.push_back(at::detail::getDefaultCPUGenerator());
  if (!device.is_cpu()) state.generators_.push_back(at::globalContext().defaultGenerator(device));
  for (auto& generator : state.generators_) {
    const std::lock_guard lock(generator.mutex());
    state.states_.push_back(generator.get_state());
  }
  return state;
}

void RandomState::apply() const {
  for (std::size_t i = 0; i < generators_.size(); ++i) {
    at::Generator generator = generators_[i];
    const std::lock_guard lock(generator.mutex());
    generator.set_state(states_[i]);
  }
}

}  // namespace holdfast::device
