// Times one AdamW step over many parameters: ours, ours with moments on the host, and a plain loop that reads four
// arrays and writes three; or LibTorch's optim::AdamW in a process of its own, without our allocator. Prints one JSON
// object of milliseconds. Started by optimizer.py.
//   optimizer_bench [millions of parameters, 67] [threads, 2] [libtorch]
#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "device/allocator.hpp"
#include "engine/placement.hpp"
#include "optim/adamw.hpp"

namespace {

using namespace holdfast;
using Clock = std::chrono::steady_clock;

constexpr int kRounds = 9;
constexpr std::int64_t kTensors = 16;

NamedTensors make_parameters(std::int64_t total) {
  const std::int64_t rows = std::max<std::int64_t>(1, total / kTensors / 1024);
  NamedTensors parameters;
  for (std::int64_t i = 0; i < kTensors; ++i) {
    parameters.push_back({"p" + std::to_string(i), (at::randn({rows, 1024}) * 0.02).requires_grad_(true)});
    parameters.back().tensor.mutable_grad() = at::randn({rows, 1024});
  }
  return parameters;
}

template <class Work>
double milliseconds(const Work& work) {
  const auto began = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

/// The traffic of AdamW without its arithmetic.
class Traffic {
 public:
  explicit Traffic(const NamedTensors& parameters) {
    for (const auto& entry : parameters) count_ += entry.tensor.numel();
    for (auto& array : arrays_) array = at::ones({count_});
  }
  void step() {
    at::parallel_for(0, count_, 1 << 16, [this](std::int64_t begin, std::int64_t end) {
      pass(data(0) + begin, data(1) + begin, data(2) + begin, data(3) + begin, end - begin);
    });
  }

 private:
  __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3"))) static void pass(
      float* __restrict p, float* __restrict m, float* __restrict v, const float* __restrict g, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      m[i] = 0.9F * m[i] + 0.1F * g[i];
      v[i] = 0.9F * v[i] + 0.1F * g[i];
      p[i] = p[i] - 1e-3F * (m[i] + v[i]);
    }
  }
  float* data(int i) { return arrays_[i].mutable_data_ptr<float>(); }
  std::int64_t count_ = 0;
  at::Tensor arrays_[4];
};

struct Side {
  const char* name;
  std::function<void()> work;
  std::vector<double> taken = {};
};

void prepare_and_commit(optim::Optimizer& optimizer) {
  optimizer.prepare();
  optimizer.commit(1e-3);
}

}  // namespace

int main(int count, char** words) {
  const std::int64_t total = (count > 1 ? std::atoll(words[1]) : 67) * 1'000'000;
  at::set_num_threads(count > 2 ? std::atoi(words[2]) : 2);
  const bool plain = count > 3 && std::string_view(words[3]) == "libtorch";
  if (!plain) device::install_allocator();
  const NamedTensors parameters = make_parameters(total);

  std::vector<Side> sides;
  if (plain) {
    std::vector<at::Tensor> list;
    for (const auto& entry : parameters) list.push_back(entry.tensor);
    const auto theirs = std::make_shared<torch::optim::AdamW>(list, torch::optim::AdamWOptions(1e-3));
    sides.push_back({"LibTorch optim::AdamW", [theirs] { theirs->step(); }});
  } else {
    const auto ours = std::make_shared<optim::Adamw>(parameters, optim::AdamwSettings{});
    const auto offloaded = std::make_shared<optim::Adamw>(parameters, optim::AdamwSettings{});
    engine::place_moments(*offloaded, Placement::kHost, at::kCPU);
    const auto traffic = std::make_shared<Traffic>(parameters);
    sides.push_back({"holdfast", [ours] { prepare_and_commit(*ours); }});
    sides.push_back({"holdfast, moments on the host", [offloaded] { prepare_and_commit(*offloaded); }});
    sides.push_back({"loop of 4 reads and 3 writes", [traffic] { traffic->step(); }});
  }
  for (int round = -2; round < kRounds; ++round)  // two to warm up: moments are made, pages are touched
    for (auto& side : sides) {
      const double taken = milliseconds(side.work);
      if (round >= 0) side.taken.push_back(taken);
    }
  for (std::size_t i = 0; i < sides.size(); ++i)
    std::printf("%s\"%s\": %.3f", i == 0 ? "{" : ", ", sides[i].name, median(sides[i].taken));
  std::printf("}\n");
  return 0;
}
