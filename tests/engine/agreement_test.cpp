// Eval data that does not fit the model is refused before the first window.
#include "engine/agreement.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace holdfast;

namespace {

const DataFacts kDigits{{{"input", "float32", {8, 8}, 0}, {"target", "int64", {}, 10}}};

std::string told(const DataFacts& eval) {
  try {
    engine::require_agreement(kDigits, eval);
    return "accepted";
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code())) + " " + error.what();
  }
}

const std::string kHint = "\n  hint: give both data sets the same kind of samples, or remove [dataset.eval]";

}  // namespace

TEST_CASE("eval data with the fields of the training data, and no more classes, is accepted") {
  CHECK(told(kDigits) == "accepted");
  CHECK(told({{{"target", "int64", {}, 7}, {"input", "float32", {8, 8}, 0}, {"extra", "int64", {}, 0}}}) == "accepted");
}

TEST_CASE("eval data of another kind is refused with the field and both sides") {
  CHECK(told({{{"input", "float32", {8, 8}, 0}}}) ==
        "65 dataset.eval: error[eval.mismatch]: there is no field 'target', which the training data has" + kHint);
  CHECK(told({{{"input", "float32", {28, 28}, 0}, {"target", "int64", {}, 10}}}) ==
        "65 dataset.eval: error[eval.mismatch]: field 'input' is float32 [28, 28], but the training data has "
        "float32 [8, 8]" +
            kHint);
  CHECK(told({{{"input", "float64", {8, 8}, 0}, {"target", "int64", {}, 10}}}) ==
        "65 dataset.eval: error[eval.mismatch]: field 'input' is float64 [8, 8], but the training data has "
        "float32 [8, 8]" +
            kHint);
  CHECK(told({{{"input", "float32", {8, 8}, 0}, {"target", "int64", {}, 11}}}) ==
        "65 dataset.eval: error[eval.mismatch]: field 'target' has 11 classes, but the training data has 10" + kHint);
}
