// Norm and finiteness in one pass; clipping as PyTorch clips.
#include "optim/gradients.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <limits>

using holdfast::NamedTensors;
using holdfast::optim::Gradients;

namespace {
at::Tensor with_gradient(const at::Tensor& gradient) {
  at::Tensor parameter = at::zeros_like(gradient).requires_grad_(true);
  parameter.mutable_grad() = gradient;
  return parameter;
}
}  // namespace

TEST_CASE("the norm equals torch's over many tensors of float and double") {
  torch::manual_seed(1);
  NamedTensors parameters;
  double expected = 0;
  for (const auto size : {1, 31, 33, 2048, 5000, 100003}) {
    const auto type = size == 31 ? at::kDouble : at::kFloat;
    parameters.push_back({"p" + std::to_string(size), with_gradient(at::randn({size}, type))});
    expected += std::pow(parameters.back().tensor.grad().to(at::kDouble).norm().item<double>(), 2);
  }
  parameters.push_back({"without", at::zeros({3}).requires_grad_(true)});
  Gradients gradients(parameters);
  const auto measure = gradients.measure();
  CHECK(measure.finite);
  CHECK(measure.norm == doctest::Approx(std::sqrt(expected)).epsilon(1e-6));
}

TEST_CASE("one NaN or infinity anywhere is seen, in the first block, the tail and in doubles") {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (const auto type : {at::kFloat, at::kDouble})
      for (const std::int64_t place : {0, 20000, 20006}) {
        at::Tensor gradient = at::ones({20007}, type);
        gradient[place] = bad;
        Gradients gradients({{"p", with_gradient(gradient)}});
        CHECK_FALSE(gradients.measure().finite);
      }
}

TEST_CASE("numbers whose square overflows a float are still finite") {
  Gradients gradients({{"p", with_gradient(at::full({100}, 1e25F))}});
  const auto measure = gradients.measure();
  CHECK(measure.finite);
  CHECK(measure.norm == doctest::Approx(1e26).epsilon(1e-6));
}

TEST_CASE("the norm does not depend on the number of threads") {
  torch::manual_seed(2);
  Gradients gradients({{"p", with_gradient(at::randn({1000003}))}});
  const int before = at::get_num_threads();
  at::set_num_threads(1);
  const double one = gradients.measure().norm;
  at::set_num_threads(2);
  CHECK(gradients.measure().norm == one);
  at::set_num_threads(before);
}

TEST_CASE("clipping equals torch's and leaves short gradients alone") {
  torch::manual_seed(3);
  const at::Tensor gradient = at::randn({100});
  const at::Tensor mine = with_gradient(gradient.clone()), theirs = with_gradient(gradient.clone());
  Gradients gradients({{"p", mine}});
  gradients.clip(gradients.measure().norm, 1.0);
  torch::nn::utils::clip_grad_norm_({theirs}, 1.0);
  CHECK(at::allclose(mine.grad(), theirs.grad(), 1e-6, 0));
  const at::Tensor clipped = mine.grad().clone();
  gradients.clip(gradients.measure().norm, 5.0);
  CHECK(at::equal(mine.grad(), clipped));
}
