// Not a test: what the trainer costs over a bare LibTorch loop of the same model, in CPU time of the process, the two
// taking turns. Arguments: input width, hidden widths..., classes, threads.
#include <sys/resource.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "device/threads.hpp"
#include "engine/trainer.hpp"

using namespace holdfast;

namespace {

constexpr std::int64_t kSamples = 6400, kBatch = 64;

struct Mlp : Model {
  explicit Mlp(const std::vector<std::int64_t>& widths) {
    torch::manual_seed(1);
    for (std::size_t i = 0; i + 1 < widths.size(); ++i)
      layers.emplace_back(torch::nn::Linear(widths[i], widths[i + 1]));
  }
  at::Tensor logits(at::Tensor x) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      x = layers[i]->forward(x);
      if (i + 1 < layers.size()) x = at::relu(x);
    }
    return x;
  }
  double weight(const Batch& batch) const override { return static_cast<double>(batch.samples.size()); }
  Outputs forward(const Batch& batch, Segments&) override { return {{"logits", logits(batch.fields.get("x"))}}; }
  at::Tensor loss(const Outputs& outputs, const Batch& batch) override {
    return at::cross_entropy_loss(outputs.get("logits"), batch.fields.get("y"), {}, at::Reduction::Sum);
  }
  NamedTensors parameters() override {
    NamedTensors list;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      list.push_back({std::to_string(i) + ".weight", layers[i]->weight});
      list.push_back({std::to_string(i) + ".bias", layers[i]->bias});
    }
    return list;
  }
  NamedTensors buffers() override { return {}; }
  void train(bool) override {}
  Traits traits() const override { return {}; }
  std::vector<torch::nn::Linear> layers;
};

struct Memory : Dataset {
  explicit Memory(std::int64_t width) : x(at::rand({kSamples, width})), y(at::randint(10, {kSamples})) {}
  std::int64_t size() const override { return kSamples; }
  Fingerprint fingerprint() const override { return "memory"; }
  DataFacts facts() const override { return {{{"x", "float32", {x.size(1)}}, {"y", "int64", {}, 10}}}; }
  void read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng&) const override {
    const at::Tensor a = into.field("x", at::kFloat, {x.size(1)}), b = into.field("y", at::kLong, {});
    auto* images = a.data_ptr<float>();
    auto* labels = b.data_ptr<std::int64_t>();
    const auto width = x.size(1);
    for (const auto index : indices) {
      std::memcpy(images, x.const_data_ptr<float>() + index * width, static_cast<std::size_t>(width) * sizeof(float));
      images += width;
      *labels++ = y.const_data_ptr<std::int64_t>()[index];
    }
  }
  at::Tensor x, y;
};

struct Times {
  double cpu, wall;
};
Times now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime),
          std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

void bare(Mlp& model, const Memory& data, std::int64_t updates) {
  std::vector<at::Tensor> p, m, v, steps, g;
  for (auto& entry : model.parameters()) {
    p.push_back(entry.tensor);
    m.push_back(at::zeros_like(entry.tensor.detach()));
    v.push_back(at::zeros_like(entry.tensor.detach()));
    steps.push_back(at::zeros({}));
  }
  double last = 0;
  for (std::int64_t update = 0; update < updates; ++update) {
    const auto first = update % (kSamples / kBatch) * kBatch;
    for (auto& tensor : p) tensor.mutable_grad().reset();
    const at::Tensor loss =
        at::cross_entropy_loss(model.logits(data.x.narrow(0, first, kBatch)), data.y.narrow(0, first, kBatch));
    loss.backward();
    const at::NoGradGuard no_grad;
    g.clear();
    for (auto& tensor : p) g.push_back(tensor.grad());
    for (auto& step : steps) step.add_(1);
    at::_fused_adamw_(p, g, m, v, {}, steps, 1e-4, 0.9, 0.999, 0.01, 1e-8, false, false);
    last = loss.item<double>();
  }
  if (last < 0) std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::int64_t> widths;
  for (int i = 1; i + 1 < argc; ++i) widths.push_back(std::atoll(argv[i]));
  if (widths.size() < 2) return std::fprintf(stderr, "usage: overhead WIDTH... THREADS\n"), 64;
  device::set_compute_threads(std::atoi(argv[argc - 1]));
  Mlp model(widths);
  const Memory data(widths.front());
  engine::TrainerParts parts;
  parts.model = &model;
  parts.train = &data;
  parts.settings.batch_size = kBatch;
  parts.settings.optimizer.lr = 1e-4;
  const std::int64_t updates = widths.front() > 100 ? 100 : 1000;
  std::vector<double> cpu[2], wall[2];
  for (int round = 0; round < 25; ++round)
    for (const int which : {0, 1}) {
      parts.settings.updates = updates;
      const Times before = now();
      if (which == 0)
        bare(model, data, updates);
      else
        engine::Trainer(parts).run();
      const Times after = now();
      cpu[which].push_back((after.cpu - before.cpu) / static_cast<double>(updates) * 1e6);
      wall[which].push_back((after.wall - before.wall) / static_cast<double>(updates) * 1e6);
    }
  for (auto* list : {&cpu[0], &cpu[1], &wall[0], &wall[1]}) std::sort(list->begin(), list->end());
  std::printf("us an update     bare   trainer   ratio\n");
  std::printf("cpu  quartile %7.1f %9.1f  %6.3f\n", cpu[0][6], cpu[1][6], cpu[1][6] / cpu[0][6]);
  std::printf("wall quartile %7.1f %9.1f  %6.3f\n", wall[0][6], wall[1][6], wall[1][6] / wall[0][6]);
  std::printf("wall best     %7.1f %9.1f  %6.3f\n", wall[0][0], wall[1][0], wall[1][0] / wall[0][0]);
}
