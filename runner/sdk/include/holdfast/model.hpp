// A model: weight, forward, loss, scores, state. The runner owns the step around it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/component.hpp"
#include "holdfast/dataset.hpp"
#include "holdfast/options.hpp"
#include "holdfast/tensor.hpp"

namespace holdfast {

using Outputs = NamedTensors;

/// Marks where memory may be traded. Without a plan for the segment, `run` just calls `fn`.
class HOLDFAST_VISIBLE Segments {
 public:
  using Function = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;
  virtual ~Segments() = default;
  /// `fn` must be repeatable: same inputs, same tensors. So it draws random numbers from LibTorch's default generators
  /// alone, depends on no counter and changes no input. It may be kept and called again in the backward pass, after
  /// forward() has returned: it captures by value (`this` included), never a local by reference; batch and model live
  /// long enough. Names are unique within a forward. Segments may lie inside segments.
  virtual std::vector<at::Tensor> run_list(std::string_view name, const Function& fn,
                                           std::vector<at::Tensor> inputs) = 0;
  /// True when `run_list` would do more than call `fn`; lets the common case skip the type erasure.
  [[nodiscard]] virtual bool active() const = 0;
  /// One tensor in, one out: the usual block.
  template <class F>
  at::Tensor run(std::string_view name, F fn, const at::Tensor& input) {
    if (!active()) return fn(input);
    return run_list(name,
                    [fn](const std::vector<at::Tensor>& in) mutable { return std::vector<at::Tensor>{fn(in[0])}; },
                    {input})[0];
  }
};

/// Sums for evaluation; the runner divides at the end and over all batches.
class Scores {
 public:
  struct Entry {
    std::string name;
    double sum = 0, weight = 0;
    bool exponential = false;  ///< report exp(sum / weight), as for perplexity
  };
  void add(std::string_view name, double sum, double weight, bool exponential = false) {
    for (auto& entry : entries)
      if (entry.name == name) {
        entry.sum += sum, entry.weight += weight;
        return;
      }
    entries.push_back({std::string(name), sum, weight, exponential});
  }
  std::vector<Entry> entries;
};

struct Traits {
  bool draws_random = false;   ///< dropout and the like: another split of a window gives other numbers
  bool batch_coupled = false;  ///< BatchNorm, contrastive losses: a sample's result depends on its micro-batch
  bool has_segments = false;
};

class HOLDFAST_VISIBLE Model : public Component {
 public:
  static constexpr Kind kKind = Kind::kModel;
  /// Units in the batch (samples, unmasked tokens); pure, on the host, before forward.
  [[nodiscard]] virtual double weight(const Batch&) const = 0;
  virtual Outputs forward(const Batch&, Segments&) = 0;
  /// A scalar: the SUM over the units of the batch, never a mean. The runner divides by the window's weight.
  virtual at::Tensor loss(const Outputs&, const Batch&) = 0;
  /// Adds evaluation scores ("accuracy"). "loss" is added by the runner.
  virtual void score(const Outputs&, const Batch&, Scores&) const {}
  /// Trainable tensors and the rest of the state, by stable dotted names.
  virtual NamedTensors parameters() = 0;
  virtual NamedTensors buffers() = 0;
  /// true: each module gets back its own training flag as of construction; false: evaluation mode throughout.
  virtual void train(bool training) = 0;
  [[nodiscard]] virtual Traits traits() const = 0;
};

}  // namespace holdfast
