// AdamW and SGD against LibTorch's own, state that survives, and what cannot be restored.
#include <c10/core/CPUAllocator.h>
#include <doctest/doctest.h>
#include <torch/torch.h>

#include "optim/adamw.hpp"
#include "optim/sgd.hpp"

using namespace holdfast;
using namespace holdfast::optim;

namespace {

NamedTensors make_parameters(at::ScalarType type) {
  torch::manual_seed(5);
  return {{"weight", at::randn({7, 5}, type).requires_grad_(true)},
          {"bias", at::randn({7}, type).requires_grad_(true)}};
}

std::vector<at::Tensor> list(const NamedTensors& named) {
  std::vector<at::Tensor> result;
  for (const auto& entry : named) result.push_back(entry.tensor);
  return result;
}

void set_gradients(const NamedTensors& parameters, int step) {
  torch::manual_seed(100 + step);
  for (const auto& entry : parameters) entry.tensor.mutable_grad() = at::randn_like(entry.tensor.detach());
}

/// Twenty updates with our optimizer and with torch's; both see equal gradients.
template <class Mine, class Theirs>
void compare(at::ScalarType type, double tolerance, Mine make_mine, Theirs make_theirs) {
  const NamedTensors a = make_parameters(type), b = make_parameters(type);
  const auto mine = make_mine(a);
  const auto theirs = make_theirs(list(b));
  for (int step = 0; step < 20; ++step) {
    set_gradients(a, step);
    set_gradients(b, step);
    mine->prepare();
    mine->commit(0.01);
    theirs->step();
  }
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK((a[i].tensor - b[i].tensor).norm().template item<double>() <=
          tolerance * b[i].tensor.norm().template item<double>());
}

}  // namespace

TEST_CASE("AdamW gives torch's updates, in float and double") {
  for (const auto& [type, tolerance] : {std::pair{at::kFloat, 1e-6}, std::pair{at::kDouble, 1e-14}})
    compare(
        type, tolerance,
        [](const NamedTensors& p) { return std::make_unique<Adamw>(p, AdamwSettings{0.1, 0.8, 0.95, 1e-6, true}); },
        [](const std::vector<at::Tensor>& p) {
          return std::make_unique<torch::optim::AdamW>(
              p, torch::optim::AdamWOptions(0.01).weight_decay(0.1).betas({0.8, 0.95}).eps(1e-6));
        });
}

TEST_CASE("SGD gives torch's updates: plain, with momentum, with Nesterov and weight decay") {
  for (const auto& [momentum, nesterov] : {std::pair{0.0, false}, std::pair{0.9, false}, std::pair{0.9, true}})
    compare(
        at::kFloat, 1e-6,
        [&, m = momentum, n = nesterov](const NamedTensors& p) {
          return std::make_unique<Sgd>(p, SgdSettings{0.1, m, n, true});
        },
        [&, m = momentum, n = nesterov](const std::vector<at::Tensor>& p) {
          return std::make_unique<torch::optim::SGD>(
              p, torch::optim::SGDOptions(0.01).momentum(m).nesterov(n).weight_decay(0.1));
        });
}

TEST_CASE("tensors with fewer than two dimensions do not decay unless asked to") {
  const NamedTensors parameters = make_parameters(at::kFloat);
  const at::Tensor weight = parameters[0].tensor.detach().clone(), bias = parameters[1].tensor.detach().clone();
  Adamw optimizer(parameters, {0.5, 0.9, 0.999, 1e-8, false});
  for (const auto& entry : parameters) entry.tensor.mutable_grad() = at::zeros_like(entry.tensor.detach());
  optimizer.prepare();
  optimizer.commit(0.1);
  CHECK(at::allclose(parameters[0].tensor, weight * 0.95));
  CHECK(at::equal(parameters[1].tensor, bias));
}

TEST_CASE("a parameter without a gradient is left alone, its step count too") {
  const NamedTensors parameters = make_parameters(at::kFloat);
  const at::Tensor bias = parameters[1].tensor.detach().clone();
  Adamw optimizer(parameters, {});
  parameters[0].tensor.mutable_grad() = at::ones({7, 5});
  optimizer.prepare();
  optimizer.commit(0.1);
  CHECK(at::equal(parameters[1].tensor, bias));
  CHECK(optimizer.state().get("weight.step").item<float>() == 1);
  CHECK(optimizer.state().get("bias.step").item<float>() == 0);
}

TEST_CASE("commit lets go of the gradients") {
  const NamedTensors parameters = make_parameters(at::kFloat);
  Sgd optimizer(parameters, {});
  set_gradients(parameters, 0);
  const at::Tensor gradient = parameters[0].tensor.grad();
  optimizer.prepare();
  optimizer.commit(0.1);
  CHECK(gradient.use_count() == 2);  // the parameter's and this one
}

TEST_CASE("small and large tensors are updated alike, and the number of threads stays") {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  torch::manual_seed(8);
  const at::Tensor large = at::randn({200, 200}), gradient = at::randn({200, 200});
  const at::Tensor whole = large.clone().requires_grad_(true), part = large[7].clone().requires_grad_(true);
  Adamw optimizer({{"whole", whole}, {"part", part}}, {0.01, 0.9, 0.999, 1e-8, true});
  Adamw alone({{"part", part}}, {0.01, 0.9, 0.999, 1e-8, true});
  whole.mutable_grad() = gradient;
  optimizer.prepare();
  optimizer.commit(0.1);
  part.mutable_grad() = gradient[7].clone();
  alone.prepare();
  alone.commit(0.1);
  CHECK(at::allclose(part, whole[7], 1e-6, 1e-7));
  CHECK(at::get_num_threads() == 2);
  at::set_num_threads(before);
}

TEST_CASE("commit allocates nothing, so memory cannot run out half-way through an update") {
  struct Counting : c10::Allocator {
    c10::DataPtr allocate(std::size_t bytes) override { return ++count, inner->allocate(bytes); }
    c10::DeleterFnPtr raw_deleter() const override { return inner->raw_deleter(); }
    void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
    c10::Allocator* inner = c10::GetCPUAllocator();
    int count = 0;
  } counting;
  const NamedTensors parameters = make_parameters(at::kFloat);
  Adamw adamw(parameters, {});
  Sgd sgd(parameters, {0.1, 0.9, true, true});
  constexpr std::uint8_t kPriority = 100;
  for (Optimizer* optimizer : {static_cast<Optimizer*>(&adamw), static_cast<Optimizer*>(&sgd)}) {
    set_gradients(parameters, 0);
    c10::SetCPUAllocator(&counting, kPriority);
    counting.count = 0;
    optimizer->prepare();
    const int prepared = counting.count;
    optimizer->commit(0.01);
    const int committed = counting.count;
    c10::SetCPUAllocator(counting.inner, kPriority);
    CHECK(prepared > 0);  // the moments
    CHECK(committed == prepared);
  }
}

TEST_CASE("a restored optimizer goes on bit-equal") {
  const NamedTensors a = make_parameters(at::kFloat);
  Adamw first(a, {});
  for (int step = 0; step < 3; ++step) {
    set_gradients(a, step);
    first.prepare();
    first.commit(0.01);
  }
  NamedTensors saved;
  NamedTensors copies;
  for (const auto& [name, tensor] : first.state()) saved.push_back({name, tensor.clone()});
  for (const auto& [name, tensor] : a) copies.push_back({name, tensor.detach().clone().requires_grad_(true)});
  const NamedTensors b = copies;
  Adamw second(b, {});
  second.restore(saved);
  for (int step = 3; step < 6; ++step)
    for (auto* pair : {&a, &b}) {
      set_gradients(*pair, step);
      Adamw& optimizer = pair == &a ? first : second;
      optimizer.prepare();
      optimizer.commit(0.01);
    }
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(at::equal(a[i].tensor, b[i].tensor));
}

TEST_CASE("a state of another optimizer or shape is refused with the name") {
  const NamedTensors parameters = make_parameters(at::kFloat);
  Adamw optimizer(parameters, {});
  CHECK_THROWS_WITH_AS(optimizer.restore({}),
                       "optimizer: error[optimizer.state_mismatch]: the saved state lacks 'weight.exp_avg', which this "
                       "optimizer needs\n  hint: resume with the optimizer of the saved run, or start a new run",
                       Error);
  CHECK_THROWS_WITH_AS(
      optimizer.restore({{"weight.momentum", at::zeros({7, 5})}}),
      "optimizer: error[optimizer.state_mismatch]: the saved state holds 'weight.momentum', which this "
      "optimizer does not have\n  hint: resume with the optimizer of the saved run, or start a new run",
      Error);
  NamedTensors saved = optimizer.state();
  saved[0].tensor = at::zeros({7, 6});
  CHECK_THROWS_WITH_AS(optimizer.restore(saved),
                       "optimizer: error[optimizer.state_mismatch]: 'weight.exp_avg' was saved as Float [7, 6] and is "
                       "now Float [7, 5]\n  hint: resume with the optimizer of the saved run, or start a new run",
                       Error);
}

TEST_CASE("gradients and parameters that the kernels would read wrongly are named") {
  const NamedTensors parameters = make_parameters(at::kFloat);
  Sgd optimizer(parameters, {});
  parameters[0].tensor.mutable_grad() = at::zeros({5, 7}).t();
  CHECK_THROWS_WITH_AS(optimizer.prepare(),
                       "model: error[optimizer.unusable_tensor]: parameter 'weight' has a gradient of other strides\n"
                       "  hint: keep the memory format of a parameter unchanged",
                       Error);
  parameters[0].tensor.mutable_grad() = at::zeros({7, 5}).to_sparse();
  CHECK_THROWS_WITH_AS(optimizer.prepare(),
                       "model: error[optimizer.unusable_tensor]: parameter 'weight' has a sparse gradient\n"
                       "  hint: use dense gradients (embedding: sparse = false)",
                       Error);
  CHECK_THROWS_WITH_AS(Sgd({{"gaps", at::zeros({4, 4}).slice(1, 0, 2).requires_grad_(true)}}, {}),
                       "model: error[optimizer.unusable_tensor]: parameter 'gaps' is a view with gaps or overlaps\n"
                       "  hint: make it contiguous where the model creates it",
                       Error);
}

TEST_CASE("the stride of a dimension with one entry says nothing: the update is the same, in AdamW and SGD") {
  const auto updated = [](auto make, bool odd) {
    torch::manual_seed(2);
    const NamedTensors parameters = {{"kernel", at::randn({3, 1, 2, 2}).requires_grad_(true)}};
    const at::Tensor gradient = at::randn({3, 1, 2, 2});
    parameters[0].tensor.mutable_grad() = odd ? gradient.as_strided({3, 1, 2, 2}, {4, 1, 2, 1}) : gradient;
    auto optimizer = make(parameters);
    optimizer.prepare();
    optimizer.commit(0.1);
    return parameters[0].tensor.detach().clone();
  };
  const auto sgd = [](const NamedTensors& parameters) { return Sgd(parameters, {}); };
  const auto adamw = [](const NamedTensors& parameters) { return Adamw(parameters, {}); };
  CHECK(at::equal(updated(sgd, true), updated(sgd, false)));
  CHECK(at::equal(updated(adamw, true), updated(adamw, false)));
}

TEST_CASE("C41: fifty loads: the recipe's options stay, moments and step counts are the saved ones, nothing piles up") {
  const NamedTensors trained = make_parameters(at::kFloat), loaded = make_parameters(at::kFloat);
  Adamw saved_from(trained, AdamwSettings{0.1, 0.8, 0.95, 1e-6, true});
  Adamw into(loaded, AdamwSettings{0.0, 0.9, 0.999, 1e-8, true});
  for (int step = 0; step < 3; ++step) {
    set_gradients(trained, step);
    saved_from.prepare();
    saved_from.commit(1e-3);
  }
  const NamedTensors saved = saved_from.state();
  into.restore(saved);
  const NamedTensors before = into.state();
  for (int load = 0; load < 50; ++load) into.restore(saved);
  const NamedTensors after = into.state();
  REQUIRE(after.size() == saved.size());
  for (const auto& [name, tensor] : after) {
    CHECK(at::equal(tensor, saved.get(name)));
    CHECK(tensor.data_ptr() == before.get(name).data_ptr());  // the same memory, fifty loads later
  }
  set_gradients(loaded, 9);
  into.prepare();
  into.commit(0.5);
  const at::Tensor moved = loaded.get("weight").detach().clone();
  const NamedTensors again = make_parameters(at::kFloat);
  Adamw fresh(again, AdamwSettings{0.0, 0.9, 0.999, 1e-8, true});
  fresh.restore(saved);
  set_gradients(again, 9);
  fresh.prepare();
  fresh.commit(0.5);
  CHECK(at::equal(again.get("weight"), moved));  // options are those it was built with
}
