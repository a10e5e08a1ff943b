// SGD: one kernel call a group.
#include "optim/sgd.hpp"

#include <ATen/ATen.h>

namespace holdfast::optim {

Sgd::Sgd(const NamedTensors& parameters, const SgdSettings& settings)
    : Optimizer(parameters,
                settings.momentum == 0 ? std::vector<MomentSpec>{} : std::vector<MomentSpec>{{"momentum", false}},
                settings.weight_decay, settings.decay_vectors),
      settings_(settings) {}

void Sgd::apply(Group& group, double learning_rate) {
  // Velocities begin at zero, so the first step needs no case of its own: momentum * 0 + g = g.
  const at::TensorList velocities = group.moments.empty() ? at::TensorList{} : at::TensorList(group.moments[0]);
  at::_fused_sgd_(group.parameters, group.gradients, velocities, group.weight_decay, settings_.momentum, learning_rate,
                  /*dampening=*/0, settings_.nesterov, /*maximize=*/false, /*is_first_step=*/false);
}

}  // namespace holdfast::optim
