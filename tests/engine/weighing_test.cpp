// The window's weight: its sum, and whose fault it is when there is none.
#include "engine/weighing.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "fixtures.hpp"

using namespace holdfast;
using namespace holdfast::tests;

namespace {

class Weigher : public ProbeModel {
 public:
  double weight(const Batch& batch) const override {
    if (refuses) throw *refuses;
    return units * static_cast<double>(batch.samples.size());
  }
  double units = 1;
  std::optional<Error> refuses;
};

std::string text_of(const Model& model, const std::vector<Batch>& batches) {
  try {
    engine::weigh(model, batches, "dataset.eval");
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + " " + error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("weights of batches add up, and an empty batch is not shown to the model") {
  Weigher model;
  model.units = 2.5;
  CHECK(engine::weigh(model, std::vector<Batch>{{{}, {{1, 0}, {2, 1}}}, {}, {{}, {{3, 2}}}}, "dataset.train") == 7.5);
  model.refuses = Error(ExitCode::kBadData, "data.label_range", "", "bad");
  CHECK(engine::weigh(model, std::vector<Batch>(3), "dataset.train") == 0);
}

TEST_CASE("a bad label is told with the data set's table, another error as it was thrown") {
  Weigher model;
  const std::vector<Batch> batches = {{{}, {{7, 0}}}};
  model.refuses = Error(ExitCode::kBadData, "data.label_range", "sample 7", "label 12 lies outside 0..9", "look");
  CHECK(text_of(model, batches) ==
        "65 [dataset.eval] sample 7: error[data.label_range]: label 12 lies outside 0..9\n  hint: look");
  model.refuses = Error(ExitCode::kBadData, "data.label_dtype", "", "labels are floats");
  CHECK(text_of(model, batches) == "65 [dataset.eval]: error[data.label_dtype]: labels are floats");
  model.refuses = Error(ExitCode::kBug, "plugin.threw", "plugin 'x'", "no");
  CHECK(text_of(model, batches) == "70 plugin 'x': error[plugin.threw]: no");
}

TEST_CASE("a weight that counts nothing is the model's bug") {
  Weigher model;
  const std::vector<Batch> batches = {{{}, {{7, 0}}}};
  for (const auto& [units, shown] :
       {std::pair{-1.0, "-1.000000"}, std::pair{std::numeric_limits<double>::infinity(), "inf"}}) {
    model.units = units;
    CHECK(text_of(model, batches) == std::string("70 model: error[model.weight]: weight() gave ") + shown +
                                         "; it counts units and is a finite number, at least 0");
  }
}
