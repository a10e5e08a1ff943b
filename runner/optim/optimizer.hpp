// What every optimizer shares: which tensors decay, named moments, and an update in two halves. Knows neither schedule
// nor clipping: gradients come as they shall be applied, the learning rate with each update.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "holdfast/tensor.hpp"

namespace holdfast::optim {

/// Makes a tensor of zeros where moments shall live. May throw what an allocator throws.
using MomentSource = std::function<at::Tensor(at::IntArrayRef sizes, at::IntArrayRef strides, at::TensorOptions)>;

/// One update is prepare() and then commit(). All that may fail happens in prepare; commit allocates nothing and cannot
/// leave half an update behind. One thread.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Takes the gradients that are there now; parameters without one are left alone by this update. Makes missing
  /// moments. Throws Error 70 for a gradient that the kernels cannot use (sparse, other strides than its parameter).
  /// A failure leaves no gradient held here; moments made so far stay.
  void prepare();
  /// Applies what prepare took, and lets go of the gradients.
  void commit(double learning_rate);
  /// From now on moments come from `source`; those that are there move to it, bit for bit. When it throws, every moment
  /// is where it was. Not between prepare() and commit().
  void place_moments(MomentSource source);
  /// Moments and step counts by name ("net.0.weight.exp_avg"); shares memory with the optimizer.
  NamedTensors state();
  /// Copies a saved state in. Throws Error 78 when names, dtypes or shapes differ from state().
  void restore(const NamedTensors& saved);

 protected:
  /// A moment of one parameter: a tensor like the parameter, or one number.
  struct MomentSpec {
    const char* name;
    bool scalar;
  };
  /// Parameters that are updated by one kernel call, with the lists that kernels take.
  struct Group {
    double weight_decay;
    bool small = true;  ///< no tensor is worth more than one thread
    std::vector<at::Tensor> parameters{}, gradients{};
    std::vector<std::vector<at::Tensor>> moments{};  ///< [moment][parameter]
  };

  /// With decay_vectors false, tensors of fewer than two dimensions (biases, norms) get no weight decay.
  Optimizer(const NamedTensors& parameters, std::vector<MomentSpec> moments, double weight_decay, bool decay_vectors);
  /// Runs the kernel over one group. Must not allocate.
  virtual void apply(Group& group, double learning_rate) = 0;

 private:
  struct Slot {
    std::string name;
    at::Tensor parameter;
    std::size_t group;
    std::vector<at::Tensor> moments;  ///< empty until the first update or state()
  };
  [[nodiscard]] std::vector<at::Tensor> new_moments(const Slot& slot, const MomentSource& source) const;
  void make_moments(Slot& slot) const;
  void take_gradients();
  void let_go();

  MomentSource source_;

  std::vector<MomentSpec> specs_;
  std::vector<Slot> slots_;
  std::vector<Group> groups_;
};

}  // namespace holdfast::optim
