// Small models, data sets, hooks, strategies and savers that make every mistake of a trainer visible as a number.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/progress_json.hpp"
#include "engine/trainer.hpp"

namespace holdfast::tests {

/// Samples are rows of `values`; `mask` 0 marks a value that does not count. Field "id" is the index.
class TableDataset : public Dataset {
 public:
  using Rows = std::vector<std::vector<float>>;
  explicit TableDataset(Rows values, Rows mask = {}) : values_(std::move(values)), mask_(std::move(mask)) {
    if (mask_.empty())
      for (const auto& row : values_) mask_.emplace_back(row.size(), 1.0F);
  }
  /// n samples of one value each.
  static TableDataset constant(std::int64_t n, float value) {
    return TableDataset(Rows(static_cast<std::size_t>(n), {value}));
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(values_.size()); }
  Fingerprint fingerprint() const override { return "table of " + std::to_string(size()); }
  DataFacts facts() const override { return {{{"value", "float32", {width()}}, {"mask", "float32", {width()}}}}; }
  void read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng&) const override {
    const at::Tensor value = into.field("value", at::kFloat, {width()}),
                     mask = into.field("mask", at::kFloat, {width()});
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const auto at_row = static_cast<std::int64_t>(row);
      const auto index = static_cast<std::size_t>(indices[row]);
      std::memcpy(value[at_row].data_ptr<float>(), values_[index].data(), values_[index].size() * sizeof(float));
      std::memcpy(mask[at_row].data_ptr<float>(), mask_[index].data(), mask_[index].size() * sizeof(float));
      if (const auto bad = corrupt.find(indices[row]); bad != corrupt.end()) into.fail(row, "table", bad->second);
    }
  }
  std::map<std::int64_t, std::string> corrupt;  ///< index, reason

 private:
  std::int64_t width() const { return static_cast<std::int64_t>(values_.at(0).size()); }
  Rows values_, mask_;
};

/// One weight whose gradient is the sum of the unmasked values: loss = w * sum(value * mask), weight = sum(mask).
class ProbeModel : public Model {
 public:
  double weight(const Batch& batch) const override { return batch.fields.get("mask").sum().item<double>(); }
  Outputs forward(const Batch& batch, Segments&) override {
    for (const auto& sample : batch.samples) (training ? seen : evaluated).push_back(sample.index);
    modes.emplace_back(training, at::GradMode::is_enabled());
    if (on_forward) on_forward(static_cast<int>(modes.size()));
    return {{"sum", (batch.fields.get("value") * batch.fields.get("mask")).sum() * w}};
  }
  at::Tensor loss(const Outputs& outputs, const Batch&) override { return outputs.get("sum"); }
  void score(const Outputs&, const Batch&, Scores& scores) const override {
    if (on_score) scores.add("quality", on_score(), 1);
  }
  NamedTensors parameters() override { return {{"w", w}}; }
  NamedTensors buffers() override { return {}; }
  void train(bool on) override { training = on; }
  Traits traits() const override { return {}; }

  at::Tensor w = at::zeros({}, at::kFloat).requires_grad_(true);
  bool training = true;
  std::vector<std::int64_t> seen, evaluated;  ///< sample indices in order of use
  std::vector<std::pair<bool, bool>> modes;   ///< training flag and grad mode of each forward
  std::function<void(int)> on_forward;        ///< called with the number of the forward, 1-based
  std::function<double()> on_score;
  double value() const { return w.item<double>(); }
};

/// Random images and labels, made from the index.
class BlobDataset : public Dataset {
 public:
  explicit BlobDataset(std::int64_t size, at::ScalarType type = at::kFloat) : size_(size), type_(type) {}
  std::int64_t size() const override { return size_; }
  Fingerprint fingerprint() const override { return "blobs of " + std::to_string(size_); }
  DataFacts facts() const override { return {{{"x", "float32", {12}}, {"y", "int64", {}, 3}}}; }
  void read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng&) const override {
    const at::Tensor x = into.field("x", type_, {12}), y = into.field("y", at::kLong, {});
    for (std::size_t row = 0; row < indices.size(); ++row) {
      SampleRng rng = SampleRng(99, 0).of(indices[row]);
      const std::int64_t label = indices[row] % 3;
      for (std::int64_t i = 0; i < 12; ++i)
        x[static_cast<std::int64_t>(row)][i] = rng.uniform() + (i % 3 == label ? 1.0 : 0.0);
      y[static_cast<std::int64_t>(row)] = label;
    }
  }

 private:
  std::int64_t size_;
  at::ScalarType type_;
};

/// Two layers, dropout, and a running statistic that every training forward changes.
class SmallMlp : public Model {
 public:
  explicit SmallMlp(double dropout = 0, at::ScalarType type = at::kFloat) : dropout_(dropout) {
    at::manual_seed(4);
    first_ = (at::randn({16, 12}, type) * 0.3).requires_grad_(true);
    bias_ = at::zeros({16}, type).requires_grad_(true);
    second_ = (at::randn({3, 16}, type) * 0.3).requires_grad_(true);
    running_ = at::zeros({12}, type);
  }
  double weight(const Batch& batch) const override { return static_cast<double>(batch.samples.size()); }
  Outputs forward(const Batch& batch, Segments&) override {
    const at::Tensor x = batch.fields.get("x");
    if (training_) {
      const at::NoGradGuard no_grad;
      running_.mul_(0.9).add_(x.sum(0), 0.1);
    }
    if (on_forward) on_forward();
    at::Tensor h = at::dropout(at::relu(at::linear(x, first_, bias_)), dropout_, training_);
    at::Tensor logits = at::linear(h, second_);
    if (on_backward) logits.register_hook([this](const at::Tensor&) { on_backward(); });
    return {{"logits", logits}};
  }
  at::Tensor loss(const Outputs& outputs, const Batch& batch) override {
    return at::cross_entropy_loss(outputs.get("logits"), batch.fields.get("y"), {}, at::Reduction::Sum);
  }
  void score(const Outputs& outputs, const Batch& batch, Scores& scores) const override {
    const auto right = (outputs.get("logits").argmax(1) == batch.fields.get("y")).sum().item<double>();
    scores.add("accuracy", right, static_cast<double>(batch.samples.size()));
  }
  NamedTensors parameters() override { return {{"first", first_}, {"bias", bias_}, {"second", second_}}; }
  NamedTensors buffers() override { return {{"running", running_}}; }
  void train(bool on) override { training_ = on; }
  Traits traits() const override { return {dropout_ > 0, false, false}; }

  std::function<void()> on_forward, on_backward;
  /// All state, flattened to doubles.
  at::Tensor flat() {
    std::vector<at::Tensor> parts;
    for (const auto& entry : parameters()) parts.push_back(entry.tensor.detach().flatten().to(at::kDouble));
    parts.push_back(running_.to(at::kDouble));
    return at::cat(parts);
  }
  at::Tensor flat_parameters() { return flat().slice(0, 0, flat().numel() - 12); }

 private:
  double dropout_;
  bool training_ = true;
  at::Tensor first_, bias_, second_, running_;
};

class MicroBatches : public Strategy {
 public:
  explicit MicroBatches(std::int64_t size) : size_(size) {}
  void edit(PlanEditor& editor) override { editor.micro_batch_size(size_); }

 private:
  std::int64_t size_;
};

/// A hook made of functions.
class HookOf : public Hook {
 public:
  void run_begin(const RunFacts& told) override {
    facts = told;
    if (on_begin) on_begin();
  }
  void window_end(const WindowReport& report, Requests& requests) override {
    windows.push_back(report);
    if (on_window) on_window(report, requests);
  }
  void eval_end(const EvalReport& report, Requests&) override { evals.push_back(report); }
  void save_end(const SaveReport& report) override { saves.push_back(report); }
  void out_of_memory(const OomReport& report, Requests& requests) override {
    ooms.push_back(report);
    if (report.rung == "save" && saves_at_last) requests.save("oom");
    if (on_out_of_memory) on_out_of_memory(requests);
  }
  void run_end(ExitCode code) override { ended.push_back(static_cast<int>(code)); }
  FaultVerdict corrupt_sample(const SampleFault& fault) override {
    faults.push_back(fault);
    return verdict;
  }
  void before_update(const UpdateProposal& proposal, Requests& requests) override {
    if (on_update) on_update(proposal, requests);
  }
  void rolled_back(const RollbackReport& report) override { rollbacks.push_back(report); }
  std::string state() const override { return text; }
  void restore(std::string_view json) override { text = json; }

  RunFacts facts;
  std::function<void()> on_begin;
  std::function<void(const WindowReport&, Requests&)> on_window;
  std::function<void(const UpdateProposal&, Requests&)> on_update;
  std::function<void(Requests&)> on_out_of_memory;
  std::vector<RollbackReport> rollbacks;
  std::vector<WindowReport> windows;
  std::vector<EvalReport> evals;
  std::vector<SaveReport> saves;
  std::vector<OomReport> ooms;
  std::vector<SampleFault> faults;
  std::vector<int> ended;
  FaultVerdict verdict = FaultVerdict::kUndecided;
  std::string text = "{}";
  bool saves_at_last = true;  ///< asks for a save when the memory ladder is exhausted
};

/// Keeps saved states in memory, each with its own bytes.
class MemorySaver : public engine::Saver {
 public:
  struct Kept {
    Request request;
    base::StateView view;
    std::vector<std::vector<std::byte>> bytes;
  };
  SaveReport save(const base::StateView& state, const Request& request) override {
    if (on_save) on_save();
    auto& kept = saves.emplace_back(std::make_unique<Kept>());
    kept->request = request;
    kept->view = state;
    for (auto* list : {&kept->view.model, &kept->view.optimizer})
      for (auto& tensor : *list) {
        const auto bytes = tensor.read();
        kept->bytes.emplace_back(bytes.begin(), bytes.end());
        tensor.make = {};
        tensor.bytes = kept->bytes.back();
      }
    SaveReport report;
    report.path = "memory";
    return report;
  }
  /// As the store: a save removes what has a higher update.
  std::optional<Found> newest(std::int64_t window, const std::function<void(const std::string&)>&) override {
    std::vector<const Kept*> left;
    for (const auto& kept : saves) {
      std::erase_if(left, [&](const Kept* older) { return older->request.update >= kept->request.update; });
      left.push_back(kept.get());
    }
    for (auto kept = left.rbegin(); kept != left.rend(); ++kept)
      if (engine::progress_from_json((*kept)->view.progress_json).progress.window <= window)
        return Found{(*kept)->view, nullptr, "memory"};
    return std::nullopt;
  }
  const base::StateView& last() const { return saves.back()->view; }
  std::vector<std::unique_ptr<Kept>> saves;
  std::function<void()> on_save;
};

struct Signal : engine::StopFlag {
  const std::string* asked() const override { return raised ? &why : nullptr; }
  bool raised = false;
  std::string why = "SIGTERM from pid 1";
};

struct Notes : engine::Observer {
  void note(std::string_view sentence) override { notes.emplace_back(sentence); }
  void sample_skipped(const SampleFault& fault) override { skipped.push_back(fault.index); }
  void plan_changed(const engine::PlanChange& change, std::int64_t update) override {
    plans.push_back("update " + std::to_string(update) + ": " + change.field + " " + change.before + " -> " +
                    change.after + " by " + change.owner);
  }
  std::vector<std::string> notes, plans;
  std::vector<std::int64_t> skipped;
};

/// Everything that a run needs, with plain SGD of rate 1 and no shuffling unless a test says otherwise.
struct Bench {
  explicit Bench(Model& model, const Dataset& train) {
    parts.model = &model;
    parts.train = &train;
    parts.hooks = {{"hook.probe", &hook}};
    parts.observer = &notes;
    parts.saver = &saver;
    auto& settings = parts.settings;
    settings.run_name = "test";
    settings.epochs = 1;
    settings.shuffle_train = false;
    settings.optimizer.name = plan::OptimizerSettings::Name::kSgd;
    settings.optimizer.lr = 1;
    settings.optimizer.weight_decay = 0;
  }
  void micro(std::int64_t size) {
    split = std::make_unique<MicroBatches>(size);
    parts.strategies = {{"strategy.accumulate", split.get()}};
  }
  engine::Outcome run() { return engine::Trainer(parts).run(); }

  HookOf hook;
  Notes notes;
  MemorySaver saver;
  std::unique_ptr<MicroBatches> split;
  engine::TrainerParts parts;
};

}  // namespace holdfast::tests
