// The default generators' state, kept and put back. Knows no seeds.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <vector>

namespace holdfast::device {

/// Of the CPU's generator and, for a GPU, of that device's. Costs about 5 KB of host memory.
class RandomState {
 public:
  static RandomState now(at::Device device);
  void apply() const;

 private:
  std::vector<at::Generator> generators_;
  std::vector<at::Tensor> states_;
};

/// Random numbers begin at `state`; at the end, however it is left, they go on where they were before.
class RandomScope {
 public:
  RandomScope(const RandomState& state, at::Device device) : before_(RandomState::now(device)) { state.apply(); }
  ~RandomScope() { before_.apply(); }
  RandomScope(const RandomScope&) = delete;
  RandomScope& operator=(const RandomScope&) = delete;

 private:
  RandomState before_;
};

}  // namespace holdfast::device
