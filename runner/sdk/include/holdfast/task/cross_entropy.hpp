// Cross-entropy of a small batch in one pass. ATen splits it into two operators forward and two backward whose rows are
// made for thousands of classes; for ten, calling them costs more than the sums. Header-only, compiled in the plugin.
#pragma once

#include <ATen/Functions.h>
#include <ATen/core/Reduction.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace holdfast::task {

/// softmax and its logarithm by rows, less the largest logit of a row, summed over rows in double.
/// Gradient: (softmax - one-hot) × incoming gradient; 0 in rows that are ignored. It has no gradient of its own.
class SmallCrossEntropy : public torch::autograd::Function<SmallCrossEntropy> {
 public:
  static constexpr std::int64_t kMostLogits = 16384;  ///< beyond, ATen's kernels with their threads are quicker

  static bool takes(const at::Tensor& logits, const at::Tensor& target) {
    return logits.is_cpu() && logits.scalar_type() == at::kFloat && logits.dim() == 2 && logits.numel() > 0 &&
           logits.numel() <= kMostLogits && logits.is_contiguous() && target.is_cpu() &&
           target.scalar_type() == at::kLong && target.dim() == 1 && target.size(0) == logits.size(0) &&
           target.is_contiguous();
  }

  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& logits,
                            const at::Tensor& target, std::int64_t ignore) {
    const std::int64_t rows = logits.size(0), classes = logits.size(1);
    const at::Tensor share = at::empty({rows, classes}, logits.options().requires_grad(false));
    const auto* in = logits.const_data_ptr<float>();
    const auto* labels = target.const_data_ptr<std::int64_t>();
    auto* out = share.mutable_data_ptr<float>();
    double loss = 0;
    for (std::int64_t row = 0; row < rows; ++row, in += classes, out += classes) {
      if (labels[row] == ignore) {
        std::fill(out, out + classes, 0.F);
        continue;
      }
      TORCH_CHECK_INDEX(labels[row] >= 0 && labels[row] < classes, "Target ", labels[row], " is out of bounds.");
      loss += one_row(in, classes, labels[row], out);
    }
    context->save_for_backward({share});
    return at::scalar_tensor(loss, share.options());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const at::Tensor share = context->get_saved_variables().front();
    return {share.mul(gradients.front()), {}, {}};
  }

 private:
  /// Leaves softmax - one-hot in `out`. NaN and infinity come out as they do of ATen: as NaN.
  static double one_row(const float* in, std::int64_t classes, std::int64_t label, float* out) {
    float largest = in[0];
    for (std::int64_t i = 1; i < classes; ++i) largest = std::max(largest, in[i]);
    float sum = 0;
    for (std::int64_t i = 0; i < classes; ++i) {
      out[i] = std::exp(in[i] - largest);
      sum += out[i];
    }
    for (std::int64_t i = 0; i < classes; ++i) out[i] /= sum;
    out[label] -= 1.F;
    return static_cast<double>(std::log(sum)) - static_cast<double>(in[label] - largest);
  }
};

/// As at::cross_entropy_loss with Reduction::Sum: in nats, over the places whose label is not `ignore`.
inline at::Tensor cross_entropy_sum(const at::Tensor& logits, const at::Tensor& target, std::int64_t ignore) {
  if (SmallCrossEntropy::takes(logits, target)) return SmallCrossEntropy::apply(logits, target, ignore);
  return at::cross_entropy_loss(logits, target, {}, at::Reduction::Sum, ignore);
}

}  // namespace holdfast::task
