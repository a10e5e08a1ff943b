// Row 5: one AdamW step over many parameters. Ours, ours with moments on the host, LibTorch's optim::AdamW, and a plain
// loop that reads four arrays and writes three, side by side in one run. Prints milliseconds and ratios.
//   optimizer_bench [millions of parameters, 67] [threads, 2]
#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
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
    float *p = data(0), *m = data(1), *v = data(2);
    const float* g = data(3);
    at::parallel_for(0, count_, 1 << 16, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        m[i] = 0.9F * m[i] + 0.1F * g[i];
        v[i] = 0.9F * v[i] + 0.1F * g[i];
        p[i] = p[i] - 1e-3F * (m[i] + v[i]);
      }
    });
  }

 private:
  float* data(int i) { return arrays_[i].mutable_data_ptr<float>(); }
  std::int64_t count_ = 0;
  at::Tensor arrays_[4];
};

void prepare_and_commit(optim::Optimizer& optimizer) {
  optimizer.prepare();
  optimizer.commit(1e-3);
}

}  // namespace

int main(int count, char** words) {
  const std::int64_t total = (count > 1 ? std::atoll(words[1]) : 67) * 1'000'000;
  at::set_num_threads(count > 2 ? std::atoi(words[2]) : 2);
  device::install_allocator();
  const NamedTensors parameters = make_parameters(total);
  std::vector<at::Tensor> list;
  for (const auto& entry : parameters) list.push_back(entry.tensor);

  optim::Adamw ours(parameters, {}), offloaded(parameters, {});
  engine::place_moments(offloaded, Placement::kHost, at::kCPU);
  torch::optim::AdamW theirs(list, torch::optim::AdamWOptions(1e-3));
  Traffic traffic(parameters);
  std::vector<double> mine, host, libtorch, loop;
  for (int round = -2; round < kRounds; ++round) {  // two to warm up: moments are made, pages are touched
    const double a = milliseconds([&] { prepare_and_commit(ours); });
    const double b = milliseconds([&] { prepare_and_commit(offloaded); });
    const double c = milliseconds([&] { theirs.step(); });
    const double d = milliseconds([&] { traffic.step(); });
    if (round < 0) continue;
    mine.push_back(a), host.push_back(b), libtorch.push_back(c), loop.push_back(d);
  }
  const double gigabytes = 7.0 * 4.0 * static_cast<double>(total) / 1e9;
  std::printf("AdamW, %lld million parameters, %d threads, medians of %d interleaved rounds\n",
              static_cast<long long>(total / 1'000'000), at::get_num_threads(), kRounds);
  std::printf("holdfast                  %8.1f ms\n", median(mine));
  std::printf("holdfast, moments on host %8.1f ms   %.2f x of holdfast\n", median(host), median(host) / median(mine));
  std::printf("torch::optim::AdamW       %8.1f ms   holdfast is %.2f x as fast (wanted: 4)\n", median(libtorch),
              median(libtorch) / median(mine));
  std::printf("4 reads, 3 writes         %8.1f ms   %.1f GB/s; holdfast reaches %.2f of it (wanted: 0.9)\n",
              median(loop), gigabytes / median(loop) * 1e3, median(loop) / median(mine));
  return 0;
}
