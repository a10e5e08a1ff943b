// Saved tensors through the hooks of one's own, and random numbers that begin again.
#include "device/saved_tensors.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <thread>

#include "device/operator_names.hpp"
#include "device/random_state.hpp"

using namespace holdfast;

namespace {

/// Keeps copies and counts them.
struct Copies : device::SavedTensors {
  struct Copy : device::SavedTensor {
    explicit Copy(Copies& o) : owner(o) {}
    ~Copy() override { ++owner.freed; }
    void keep(const at::Tensor& tensor) override {
      CHECK_FALSE(at::GradMode::is_enabled());
      copy = tensor.detach().clone();
    }
    at::Tensor give() override {
      ++owner.given;
      return copy;
    }
    Copies& owner;
    at::Tensor copy;
  };
  std::unique_ptr<device::SavedTensor> next() override {
    ++kept;
    return refuses ? nullptr : std::make_unique<Copy>(*this);
  }
  int kept = 0, given = 0, freed = 0;
  bool refuses = false;
};

at::Tensor loss_of(const at::Tensor& w, const at::Tensor& x) { return at::tanh(at::linear(x, w)).square().sum(); }

}  // namespace

TEST_CASE("every tensor that a forward saves goes through the scope, and the gradient is the same") {
  const at::Tensor x = at::randn({4, 3});
  at::Tensor plain = at::randn({2, 3}).requires_grad_(true), hooked = plain.detach().clone().requires_grad_(true);
  loss_of(plain, x).backward();
  Copies copies;
  {
    at::Tensor loss;
    {
      const device::SavedTensorsScope scope(&copies);
      loss = loss_of(hooked, x);
    }
    const int kept = copies.kept;
    CHECK(kept >= 3);  // the input, the result of tanh, what is squared
    loss.backward();
    CHECK(copies.kept == kept);  // the backward pass saves nothing, and stands outside the scope
    CHECK(copies.given >= 3);
  }
  CHECK(at::equal(plain.grad(), hooked.grad()));
  CHECK(copies.freed == copies.kept);
}

TEST_CASE("scopes nest, an empty one hides the outer, and what is refused stays with autograd") {
  const at::Tensor x = at::randn({4, 3});
  at::Tensor w = at::randn({2, 3}).requires_grad_(true);
  Copies outer, inner;
  inner.refuses = true;
  const device::SavedTensorsScope first(&outer);
  {
    const device::SavedTensorsScope second(&inner);
    loss_of(w, x).backward();
    CHECK(inner.kept >= 3);
    CHECK(inner.given == 0);
    const device::SavedTensorsScope none(nullptr);
    loss_of(w, x);
  }
  CHECK(outer.kept == 0);
  loss_of(w, x);
  CHECK(outer.kept == inner.kept);
}

TEST_CASE("a scope is of its thread alone") {
  Copies copies;
  const device::SavedTensorsScope scope(&copies);
  std::thread([] { loss_of(at::randn({2, 3}).requires_grad_(true), at::randn({4, 3})).backward(); }).join();
  CHECK(copies.kept == 0);
}

TEST_CASE("a failure of keeping or giving passes through LibTorch with its own type") {
  struct Failing : device::SavedTensors, device::SavedTensor {
    explicit Failing(bool k) : keeps(k) {}
    std::unique_ptr<device::SavedTensor> next() override { return std::make_unique<Failing>(keeps); }
    void keep(const at::Tensor&) override {
      if (!keeps) throw std::range_error("keep");
    }
    at::Tensor give() override { throw std::range_error("give"); }
    bool keeps;
  };
  const auto run = [](Failing failing) {
    at::Tensor loss;
    {
      const device::SavedTensorsScope scope(&failing);
      loss = loss_of(at::randn({2, 3}).requires_grad_(true), at::randn({4, 3}));
    }
    loss.backward();
  };
  CHECK_THROWS_WITH_AS(run(Failing(false)), "keep", std::range_error);
  CHECK_THROWS_WITH_AS(run(Failing(true)), "give", std::range_error);
}

TEST_CASE("a version that is set back holds for every alias") {
  at::Tensor tensor = at::zeros({3});
  const at::Tensor alias = tensor.detach();
  const auto before = tensor._version();
  tensor.add_(1);
  tensor.add_(1);
  CHECK(alias._version() == before + 2);
  device::set_version(tensor, static_cast<std::uint32_t>(before));
  CHECK(alias._version() == before);
  CHECK(tensor._version() == before);
}

TEST_CASE("random numbers begin again inside a scope and go on after it, even when it fails") {
  at::manual_seed(3);
  const auto start = device::RandomState::now(at::kCPU);
  const at::Tensor first = at::rand({5});
  const auto later = device::RandomState::now(at::kCPU);
  const at::Tensor second = at::rand({5});
  later.apply();
  try {
    const device::RandomScope again(start, at::kCPU);
    CHECK(at::equal(at::rand({5}), first));
    throw std::runtime_error("inside");
  } catch (const std::runtime_error&) {
  }
  CHECK(at::equal(at::rand({5}), second));
}

namespace {

/// Notes sizes, operators and places; its own places are copies.
struct Watch : device::SavedTensorsWatch {
  std::unique_ptr<device::SavedTensor> plain() override {
    ++plains;
    return copies.next();
  }
  void saw(const at::Tensor& tensor, const device::SavedTensor& place) override {
    sizes.push_back(tensor.numel());
    operators.emplace_back(device::OperatorNames::current());
    CHECK(place.where() == device::SavedTensor::Where::kDevice);
  }
  Copies copies;
  int plains = 0;
  std::vector<std::int64_t> sizes;
  std::vector<std::string> operators;
};

}  // namespace

TEST_CASE("a watch sees what autograd keeps and what a scope keeps, with the operator that saves it") {
  const at::Tensor x = at::randn({4, 3}), w = at::randn({2, 3}).requires_grad_(true);
  Watch watch;
  Copies copies;
  at::Tensor first, second, third;
  {
    const device::OperatorNames names;
    {
      const device::SavedTensorsWatchScope watching(watch);
      first = at::tanh(at::mm(x, w.t()));
      const device::SavedTensorsScope scope(&copies);
      second = at::exp(w);
      copies.refuses = true;
      third = at::sigmoid(w);
    }
    CHECK(watch.plains == 3);  // mm's left side, the results of tanh and sigmoid
    CHECK(copies.kept == 2);
    CHECK(watch.sizes == std::vector<std::int64_t>{12, 8, 6, 6});
    CHECK(watch.operators == std::vector<std::string>{"mm", "tanh", "exp", "sigmoid"});
    CHECK(device::OperatorNames::current().empty());
    const auto seen = watch.sizes.size();
    (first.sum() + second.sum() + third.sum()).backward();
    CHECK(watch.sizes.size() == seen);
  }
  const at::Tensor again = w.detach().clone().requires_grad_(true);
  first = at::tanh(at::mm(x, again.t())), second = at::exp(again), third = at::sigmoid(again);
  (first.sum() + second.sum() + third.sum()).backward();
  CHECK(at::equal(again.grad(), w.grad()));
}
