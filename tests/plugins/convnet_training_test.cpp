// The convnet under the engine: splits of a window, running statistics across rollback, evaluation and resume.
#include <doctest/doctest.h>

#include <new>

#include "convnet/convnet.hpp"
#include "engine/fixtures.hpp"
#include "fixtures/components.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::tests;
using plugins::Convnet;

/// Random images of 8×8 pixels with one of three labels, made from the index.
class Images : public Dataset {
 public:
  explicit Images(std::int64_t size) : size_(size) {}
  std::int64_t size() const override { return size_; }
  Fingerprint fingerprint() const override { return "images of " + std::to_string(size_); }
  DataFacts facts() const override { return {{{"input", "float32", {8, 8}}, {"target", "int64", {}, 3}}}; }
  void read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng&) const override {
    auto* pixels = into.field("input", at::kFloat, {8, 8}).mutable_data_ptr<float>();
    auto* labels = into.field("target", at::kLong, {}).mutable_data_ptr<std::int64_t>();
    for (const std::int64_t index : indices) {
      SampleRng rng = SampleRng(7, 0).of(index);
      for (int i = 0; i < 64; ++i) *pixels++ = static_cast<float>(rng.uniform());
      *labels++ = index % 3;
    }
  }

 private:
  std::int64_t size_;
};

/// A convnet whose forwards can fail and whose flags are written down.
class Watched : public Convnet {
 public:
  using Convnet::Convnet;
  Outputs forward(const Batch& batch, Segments& segments) override {
    training.push_back(net().is_training());
    Outputs outputs = Convnet::forward(batch, segments);  // the running statistics have moved when it fails
    if (static_cast<int>(training.size()) == fail_at)
      throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, "full");
    return outputs;
  }
  std::vector<bool> training;
  int fail_at = 0;
};

struct Session {
  explicit Session(const std::string& norm, double dropout = 0)
      : data(70), eval(20), model(make(norm, dropout)), bench(*model, data) {
    auto& settings = bench.parts.settings;
    settings.batch_size = 16;
    settings.optimizer.lr = 0.05;
    settings.shuffle_train = true;
  }
  std::unique_ptr<Watched> make(const std::string& norm, double dropout) {
    Options options = test::defaults<Convnet>();
    options.set("channels", std::vector<std::int64_t>{8, 16});
    options.set("norm", norm);
    options.set("dropout", dropout);
    lender.facts = data.facts();
    torch::manual_seed(5);
    return std::make_unique<Watched>(options, lender.context("model"));
  }
  /// Weights and buffers, flattened.
  at::Tensor state() {
    std::vector<at::Tensor> parts;
    for (const auto& list : {model->parameters(), model->buffers()})
      for (const auto& entry : list) parts.push_back(entry.tensor.detach().flatten().to(at::kDouble));
    return at::cat(parts);
  }
  at::Tensor buffer(const std::string& name) { return model->buffers().get(name).clone(); }

  Images data, eval;
  test::Lender lender;
  std::unique_ptr<Watched> model;
  Bench bench;
};

}  // namespace

TEST_CASE("GroupNorm: one window of 64 and four of 16 give the same update up to summation order") {
  const auto trained = [](std::int64_t micro) {
    Session session("group");
    session.bench.parts.settings.batch_size = 64;
    session.bench.micro(micro);
    session.bench.run();
    return session.state();
  };
  const at::Tensor start = Session("group").state(), whole = trained(64), split = trained(16);
  const double moved = (whole - start).norm().item<double>();
  CHECK(moved > 1e-3);
  CHECK((whole - split).norm().item<double>() / moved < 1e-5);
}

TEST_CASE("BatchNorm: a split of a window gives other statistics, which is why it is labelled") {
  const auto mean = [](std::int64_t micro) {
    Session session("batch");
    session.bench.micro(micro);
    session.bench.run();
    CHECK(session.model->traits().batch_coupled);
    CHECK(session.buffer("block.0.norm.num_batches_tracked").item<std::int64_t>() == (micro == 16 ? 5 : 9));
    return session.buffer("block.1.norm.running_mean");
  };
  CHECK_FALSE(torch::allclose(mean(16), mean(8), 1e-4, 1e-5));
}

TEST_CASE("BatchNorm: an attempt that runs out of memory leaves no trace in the running statistics") {
  const auto trained = [](int fail_at) {
    Session session("batch", 0.3);
    session.bench.micro(8);
    session.bench.parts.on_oom = {"retry", "save"};
    session.model->fail_at = fail_at;
    session.bench.run();
    CHECK(session.bench.hook.ooms.size() == (fail_at > 0 ? 1 : 0));
    return session.state();
  };
  const at::Tensor undisturbed = trained(0);
  for (const int fail_at : {1, 2, 5, 9}) CHECK(at::equal(trained(fail_at), undisturbed));
}

TEST_CASE("BatchNorm: evaluation between updates changes no bit of the training and restores the train flags") {
  Session plain("batch", 0.3), judged("batch", 0.3);
  plain.bench.run();
  judged.bench.parts.eval = &judged.eval;
  judged.bench.parts.settings.eval_every = {Interval::Unit::kUpdates, 1, {}};
  judged.bench.parts.settings.eval_batch_size = 20;
  judged.bench.run();
  CHECK(at::equal(plain.state(), judged.state()));
  CHECK(judged.model->training == std::vector<bool>{true, false, true, false, true, false, true, false, true, false});
}

TEST_CASE("BatchNorm: stopped and resumed in mid-epoch, weights and running statistics are those of the whole run") {
  Session whole("batch", 0.3);
  whole.bench.parts.settings.epochs = 2;
  whole.bench.run();
  Session first("batch", 0.3), second("batch", 0.3);
  for (auto* session : {&first, &second}) session->bench.parts.settings.epochs = 2;
  first.bench.hook.on_window = [](const WindowReport& report, Requests& requests) {
    if (report.update == 3) requests.stop(ExitCode::kStoppedAfterSave, "enough for now");
  };
  first.bench.run();
  CHECK(first.buffer("block.0.norm.num_batches_tracked").item<std::int64_t>() == 3);
  torch::manual_seed(99);
  engine::Trainer trainer(second.bench.parts);
  trainer.restore(first.bench.saver.last());
  CHECK(second.buffer("block.0.norm.num_batches_tracked").item<std::int64_t>() == 3);
  trainer.run();
  CHECK(at::equal(second.state(), whole.state()));
}
