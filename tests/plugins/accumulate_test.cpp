// The accumulate strategy: what it writes into the plan, and what it refuses.
#include "accumulate/accumulate.hpp"

#include <doctest/doctest.h>

#include "fixtures/components.hpp"

using holdfast::Options;
using holdfast::PlanConflict;
using holdfast::PlanEditor;
using holdfast::StepPlan;
using holdfast::plugins::Accumulate;
using holdfast::test::Lender;
using holdfast::test::told;

namespace {

std::int64_t planned(const char* option, std::int64_t value, std::int64_t batch) {
  Lender lender;
  Options options;
  options.set(option, value);
  Accumulate strategy(options, lender.context("strategy.accumulate"));
  StepPlan plan;
  std::vector<PlanConflict> conflicts;
  PlanEditor editor(plan, "strategy.accumulate", conflicts);
  editor.set_batch_size(batch);
  strategy.edit(editor);
  CHECK(conflicts.empty());
  CHECK(plan.micro_batch_size.owner == "strategy.accumulate");
  std::string why;
  CHECK(strategy.exact(why));
  CHECK(strategy.phases() == 0);
  return plan.micro_batch_size.value;
}

}  // namespace

TEST_CASE("A size is taken as it is, a number becomes the size that makes it") {
  CHECK(planned("micro_batch_size", 16, 64) == 16);
  CHECK(planned("micro_batch_size", 64, 64) == 64);
  CHECK(planned("micro_batch_size", 10, 64) == 10);
  CHECK(planned("micro_batches", 4, 64) == 16);
  CHECK(planned("micro_batches", 1, 64) == 64);
  CHECK(planned("micro_batches", 64, 64) == 1);
  CHECK(planned("micro_batches", 4, 10) == 3);
}

TEST_CASE("Exactly one of the two options") {
  Lender lender;
  Options none, both;
  both.set("micro_batch_size", std::int64_t{4});
  both.set("micro_batches", std::int64_t{4});
  CHECK(told([&] { Accumulate(none, lender.context("strategy.accumulate")); }) ==
        "78 strategy.accumulate: error[accumulate.options]: neither `micro_batch_size` nor `micro_batches` is given\n"
        "  hint: give one of them");
  CHECK(told([&] { Accumulate(both, lender.context("strategy.accumulate")); }) ==
        "78 strategy.accumulate: error[accumulate.options]: `micro_batch_size` and `micro_batches` are both given, and "
        "each decides the other\n  hint: give one of them");
}

TEST_CASE("A batch that cannot be split as asked is refused with the next possible way") {
  CHECK(told([] { planned("micro_batch_size", 65, 64); }) ==
        "78 strategy.accumulate: error[accumulate.split]: `micro_batch_size`: a batch of 64 samples holds no "
        "micro-batch of 65\n  hint: make it at most train.batch_size");
  CHECK(told([] { planned("micro_batches", 6, 9); }) ==
        "78 strategy.accumulate: error[accumulate.split]: `micro_batches`: a batch of 9 samples cannot be split into 6 "
        "micro-batches of one size\n  hint: the next possible number is 5 (of 2 samples, the last may be smaller)");
  CHECK(told([] { planned("micro_batches", 65, 64); }) ==
        "78 strategy.accumulate: error[accumulate.split]: `micro_batches`: a batch of 64 samples cannot be split into "
        "65 micro-batches of one size\n  hint: the next possible number is 64 (of 1 samples, the last may be smaller)");
}
