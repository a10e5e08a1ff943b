// Autocast as a scope: on inside, as before outside, no cast outlives it.
#include "device/autocast.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <stdexcept>

#include "device/arithmetic.hpp"

using namespace holdfast::device;

namespace {

const at::Tensor& weight() {
  static const at::Tensor tensor = at::randn({4, 4}).requires_grad_(true);
  return tensor;
}

at::ScalarType computed_in() { return at::linear(at::ones({2, 4}), weight()).scalar_type(); }

}  // namespace

TEST_CASE("inside a scope the operators compute in its dtype, outside as before, also after an exception") {
  CHECK((computed_in() == at::kFloat));
  for (const auto dtype : {at::kBFloat16, at::kHalf}) {
    {
      const AutocastScope scope(at::kCPU, {dtype});
      CHECK((computed_in() == dtype));
      CHECK((autocast_state(at::kCPU).dtype == dtype));
    }
    CHECK((computed_in() == at::kFloat));
    try {
      const AutocastScope scope(at::kCPU, {dtype});
      throw std::runtime_error("in the middle");
    } catch (const std::runtime_error&) {
    }
    CHECK((computed_in() == at::kFloat));
    CHECK_FALSE(autocast_state(at::kCPU).dtype.has_value());
  }
}

TEST_CASE("scopes nest: full precision inside bf16, the outer dtype afterwards") {
  const AutocastScope outer(at::kCPU, {at::kBFloat16});
  {
    const AutocastScope inner(at::kCPU, {std::nullopt});
    CHECK((computed_in() == at::kFloat));
  }
  {
    const AutocastScope inner(at::kCPU, {at::kHalf, false});
    CHECK((computed_in() == at::kHalf));
    CHECK_FALSE(autocast_state(at::kCPU).cache);
  }
  CHECK((computed_in() == at::kBFloat16));
  CHECK(autocast_state(at::kCPU).cache);
}

TEST_CASE("a weight that changed is cast anew in the next scope, and a cast without gradients is not used with them") {
  const at::Tensor w = at::ones({1, 1}).requires_grad_(true), x = at::ones({1, 1});
  const auto product = [&] {
    const AutocastScope scope(at::kCPU, {at::kBFloat16});
    return at::linear(x, w);
  };
  {
    const at::NoGradGuard no_grad;
    CHECK(product().item<float>() == 1);
    w.fill_(3);
  }
  const at::Tensor y = product();
  CHECK(y.item<float>() == 3);
  y.backward();
  CHECK(w.grad().item<float>() == 1);
  CHECK((w.grad().scalar_type() == at::kFloat));
}

TEST_CASE("the state that is taken in one place gives the same arithmetic in another") {
  AutocastState taken;
  {
    const AutocastScope scope(at::kCPU, {at::kHalf});
    taken = autocast_state(at::kCPU);
  }
  taken.cache = false;
  const AutocastScope again(at::kCPU, taken);
  CHECK((computed_in() == at::kHalf));
}

TEST_CASE("a machine says what it can do with a dtype") {
  const MachineArithmetic machine(at::kCPU);
  CHECK(machine.support(at::kFloat) == Support::kNative);
  CHECK(machine.support(at::kBFloat16) != Support::kNone);
  CHECK(machine.support(at::kBits8) == Support::kNone);
}
