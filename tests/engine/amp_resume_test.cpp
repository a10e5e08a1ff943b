// The loss scale in checkpoints, and the end of a run that it cannot save.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "engine/reduced.hpp"

using namespace holdfast;
using namespace holdfast::tests;
using plan::OptimizerSettings;

TEST_CASE("the scale's state survives a resume: equal bits, equal progress, wherever the run stopped") {
  const auto prepare = [](Bench& bench, Strategy& reduced, Strategy& overflow) {
    bench.micro(3);
    bench.parts.strategies.push_back({"strategy.amp", &reduced});
    bench.parts.strategies.push_back({"strategy.overflow", &overflow});
    bench.parts.settings.batch_size = 8;
    bench.parts.settings.epochs = 2;
    bench.parts.settings.optimizer.name = OptimizerSettings::Name::kAdamw;
    bench.parts.settings.optimizer.lr = 0.01;
    bench.parts.settings.clip_grad_norm = 0.5;
  };
  const std::set<int> overflows = {4, 5, 9};
  const BlobDataset data(64);
  SmallMlp whole(0.4);
  Bench uninterrupted(whole, data);
  Reduced reduced(Precision::kFloat16, 1, scaling(4096, 3));
  Overflow overflow(whole, overflows);
  prepare(uninterrupted, reduced, overflow);
  uninterrupted.run();
  const std::vector<double> path = scales_of(uninterrupted.hook);
  CHECK(path == std::vector<double>{0, 4096, 4096, 4096, 2048, 1024, 1024, 1024, 2048, 1024, 1024, 1024, 2048, 2048,
                                    2048, 4096});
  for (const int stop : {1, 3, 4, 5, 8, 12}) {
    SmallMlp first(0.4), second(0.4);
    Bench before(first, data), after(second, data);
    Overflow early(first, overflows), late(second, overflows, stop);
    prepare(before, reduced, early);
    prepare(after, reduced, late);
    before.hook.on_window = [stop](const WindowReport& report, Requests& requests) {
      if (report.window == stop) requests.stop(ExitCode::kStoppedAfterSave, "enough");
    };
    before.run();
    engine::Trainer trainer(after.parts);
    trainer.restore(before.saver.last());
    trainer.run();
    CHECK(at::equal(second.flat(), whole.flat()));
    CHECK(after.saver.last().progress_json == uninterrupted.saver.last().progress_json);
  }
}

TEST_CASE("a run in fp32 or bf16 saves no scale, and fp16 may take over from it") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 1);
  Bench bench(model, data);
  bench.run();
  CHECK(bench.saver.last().progress_json.find("loss_scale") == std::string::npos);
  Bench after(model, data);
  Reduced reduced(Precision::kFloat16, 0, scaling(64));
  after.parts.strategies = {{"strategy.amp", &reduced}};
  after.parts.settings.epochs = 2;
  engine::Trainer trainer(after.parts);
  trainer.restore(bench.saver.last());
  trainer.run();
  CHECK(scales_of(after.hook) == std::vector<double>{64, 64, 64, 64});
}

TEST_CASE("a saved scale that no run can have is refused by field, value and range") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(4, 1);
  Bench bench(model, data);
  Reduced reduced(Precision::kFloat16);
  bench.parts.strategies = {{"strategy.amp", &reduced}};
  bench.run();
  engine::Trainer trainer(bench.parts);
  const auto refusal = [&](const char* field, const nlohmann::json& value) -> std::string {
    base::StateView view = bench.saver.last();
    auto object = nlohmann::json::parse(view.progress_json);
    object[field] = value;
    view.progress_json = object.dump();
    try {
      trainer.restore(view, true, "/c/state.json");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::kMissingInput);
      CHECK(error.where() == "/c/state.json");
      return error.message();
    }
    return "accepted";
  };
  CHECK(refusal("loss_scale", -1) == "progress.loss_scale is -1; it must be a number above 0");
  CHECK(refusal("loss_scale", "x") == "progress.loss_scale is \"x\"; it must be a number above 0");
  CHECK(refusal("loss_scale", 0) == "progress.loss_scale is 0; it must be a number above 0");
  CHECK(refusal("loss_scale_applied", 5) ==
        "progress.loss_scale_applied is 5; it must be from 0 to 4: no more than applied updates");
  CHECK(refusal("loss_scale_skipped", 1) ==
        "progress.loss_scale_skipped is 1; it must be 0: no more than skipped windows");
  CHECK(refusal("loss_scale_at_floor", -1) ==
        "progress.loss_scale_at_floor is -1; it must be 0: no more than windows skipped by the scale");
  CHECK(refusal("loss_scale", 256) == "accepted");
}

TEST_CASE("gradients that are never finite end the run with 82 after fifty windows at the floor") {
  ProbeModel model;
  const TableDataset data = TableDataset::constant(200, std::numeric_limits<float>::infinity());
  Bench bench(model, data);
  LossScaling floor = scaling(4);
  floor.min_scale = 2;
  Reduced reduced(Precision::kFloat16, 0, floor);
  bench.parts.strategies = {{"strategy.amp", &reduced}};
  try {
    bench.run();
    FAIL("ended well");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kDiverged);
    CHECK(std::string(error.what()).starts_with("update 0: error[run.loss_scale]: the last 50 windows had a loss or"));
  }
  CHECK(bench.hook.windows.size() == 51);
}
