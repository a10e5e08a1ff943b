// Turns the wish for a size or a number of micro-batches into the plan's field.
#include "accumulate.hpp"

namespace holdfast::plugins {

void Accumulate::declare(OptionTable& options) {
  options.integer("micro_batch_size").min(1).doc("samples in a micro-batch; the last one of a window may be smaller");
  options.integer("micro_batches").min(1).doc("micro-batches in a window, instead of their size");
}

Accumulate::Accumulate(const Options& options, const Context& context) : table_(context.table) {
  const bool by_size = options.has("micro_batch_size"), by_number = options.has("micro_batches");
  if (by_size == by_number)
    throw Error(ExitCode::kBadRecipe, "accumulate.options", table_,
                by_size ? "`micro_batch_size` and `micro_batches` are both given, and each decides the other"
                        : "neither `micro_batch_size` nor `micro_batches` is given",
                "give one of them");
  if (by_size) micro_batch_size_ = options.integer("micro_batch_size");
  if (by_number) micro_batches_ = options.integer("micro_batches");
}

void Accumulate::edit(PlanEditor& plan) { plan.micro_batch_size(size_for(plan.batch_size())); }

std::int64_t Accumulate::size_for(std::int64_t batch) const {
  const auto refuse = [&](const std::string& option, const std::string& why, const std::string& hint) {
    throw Error(ExitCode::kBadRecipe, "accumulate.split", table_,
                "`" + option + "`: a batch of " + std::to_string(batch) + " samples " + why, hint);
  };
  if (micro_batch_size_ > 0) {
    if (micro_batch_size_ > batch)
      refuse("micro_batch_size", "holds no micro-batch of " + std::to_string(micro_batch_size_),
             "make it at most train.batch_size");
    return micro_batch_size_;
  }
  const std::int64_t size = (batch + micro_batches_ - 1) / micro_batches_;
  const std::int64_t number = (batch + size - 1) / size;
  if (number != micro_batches_)
    refuse("micro_batches", "cannot be split into " + std::to_string(micro_batches_) + " micro-batches of one size",
           "the next possible number is " + std::to_string(number) + " (of " + std::to_string(size) +
               " samples, the last may be smaller)");
  return size;
}

}  // namespace holdfast::plugins
