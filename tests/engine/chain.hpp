// A model made of one function over segments, and its training with and without a plan for them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/fixtures.hpp"

namespace holdfast::tests {

/// loss = sum of the squares of what `body` makes of the field "value".
class ChainModel : public Model {
 public:
  using Body = std::function<at::Tensor(const at::Tensor&, Segments&)>;
  double weight(const Batch& batch) const override { return static_cast<double>(batch.samples.size()); }
  Outputs forward(const Batch& batch, Segments& segments) override {
    return {{"y", body(batch.fields.get("value"), segments)}};
  }
  at::Tensor loss(const Outputs& outputs, const Batch&) override { return outputs.get("y").square().sum(); }
  NamedTensors parameters() override { return weights; }
  NamedTensors buffers() override { return states; }
  void train(bool) override {}
  Traits traits() const override { return {true, false, has_segments}; }

  at::Tensor& add(const std::string& name, std::vector<std::int64_t> sizes) {
    weights.push_back({name, (at::randn(sizes) * 0.4).requires_grad_(true)});
    return weights.back().tensor;
  }
  at::Tensor flat() {
    std::vector<at::Tensor> parts;
    for (const auto& list : {weights, states})
      for (const auto& entry : list) parts.push_back(entry.tensor.detach().flatten().to(at::kDouble));
    return at::cat(parts);
  }

  Body body;
  NamedTensors weights, states;
  bool has_segments = true;
};

/// Asks for segments by name; what is empty it leaves alone.
struct Trades : Strategy {
  explicit Trades(std::vector<std::string> r) : recompute(std::move(r)) {}
  void edit(PlanEditor& editor) override {
    if (!recompute.empty()) editor.recompute(recompute);
    if (!offload.empty()) editor.offload(offload, min_bytes);
  }
  std::vector<std::string> recompute, offload;
  std::int64_t min_bytes = 1;
};

/// Makes a body for a model that is still empty: adds the weights and gives the function.
using Build = std::function<ChainModel::Body(ChainModel&)>;

struct ChainRun {
  ChainModel model;
  TableDataset data;
  Trades trades;
  Bench bench;
  ChainRun(const Build& build, std::vector<std::string> recompute, std::int64_t micro = 2)
      : data(rows()), trades(std::move(recompute)), bench(model, data) {
    at::set_num_threads(1);  // of small tensors; more threads would wait for each other on a busy machine
    at::manual_seed(11);
    model.body = build(model);
    auto& settings = bench.parts.settings;
    settings.batch_size = 6;
    settings.optimizer.lr = 0.01;
    bench.micro(micro);
    bench.parts.strategies.push_back({"strategy.trades", &trades});
  }
  at::Tensor state() {
    bench.run();
    return model.flat();
  }
  /// 24 samples of six values: four windows of three micro-batches.
  static TableDataset::Rows rows() {
    TableDataset::Rows made;
    for (int i = 0; i < 24; ++i) {
      made.emplace_back();
      for (int k = 0; k < 6; ++k) made.back().push_back(static_cast<float>((i * 7 + k * 5) % 13) / 6 - 1);
    }
    return made;
  }
};

}  // namespace holdfast::tests
