// AdamW: step counts, then one kernel call a group.
#include "optim/adamw.hpp"

#include <ATen/ATen.h>

namespace holdfast::optim {
namespace {
enum Moment : std::size_t { kMean, kSquare, kStep };
}

Adamw::Adamw(const NamedTensors& parameters, const AdamwSettings& settings)
    : Optimizer(parameters, {{"exp_avg", false}, {"exp_avg_sq", false}, {"step", true}}, settings.weight_decay,
                settings.decay_vectors),
      settings_(settings) {}

void Adamw::apply(Group& group, double learning_rate) {
  for (auto& step : group.moments[kStep]) {
    if (step.is_cpu())
      ++*step.data_ptr<float>();
    else
      step.add_(1);
  }
  at::_fused_adamw_(group.parameters, group.gradients, group.moments[kMean], group.moments[kSquare],
                    /*max_exp_avg_sqs=*/{}, group.moments[kStep], learning_rate, settings_.beta1, settings_.beta2,
                    group.weight_decay, settings_.eps, /*amsgrad=*/false, /*maximize=*/false);
}

}  // namespace holdfast::optim
