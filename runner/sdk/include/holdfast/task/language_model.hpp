// The task of telling the next token at every place. Header-only, compiled in the plugin.
#pragma once

#include <ATen/Functions.h>
#include <ATen/core/Reduction.h>

#include <cstdint>

#include "holdfast/model.hpp"
#include "holdfast/task/labels.hpp"

namespace holdfast::task {

/// `target` is int64 [N, T]: the token that follows each place, or `ignore_index` where none is asked for (padding, a
/// prompt). The model's `output` holds logits [N, T, vocabulary]. A unit is a token that is not masked, so samples of
/// different lengths weigh what they hold. Stateless after construction: thread-safe.
class LanguageModel {
 public:
  explicit LanguageModel(std::int64_t vocabulary, std::int64_t ignore_index = kIgnore)
      : vocabulary_(vocabulary), ignore_(ignore_index) {}

  /// Takes the vocabulary from what the data set says of its field "target".
  /// Error 78 when there is no such field, it is not int64, or its classes are not known.
  static LanguageModel from(const Context& context, std::int64_t ignore_index = kIgnore) {
    return LanguageModel(
        label_field(context, field::kTarget, "a language model needs the tokens that follow", "target tokens").classes,
        ignore_index);
  }

  [[nodiscard]] std::int64_t vocabulary() const { return vocabulary_; }

  /// Number of tokens that are not masked. Checks every target first: Error 65 names the sample, its token and the
  /// range. One pass over host memory.
  [[nodiscard]] double weight(const Batch& batch) const {
    return static_cast<double>(count_labels(
        batch, {field::kTarget, "target token", "tokens", "target tokens", "tokens", vocabulary_, ignore_}));
  }
  /// Cross-entropy in nats, summed over the units.
  [[nodiscard]] at::Tensor loss(const Outputs& outputs, const Batch& batch) const {
    return at::cross_entropy_loss(outputs.get(field::kOutput).flatten(0, -2),
                                  batch.fields.get(field::kTarget).flatten(), {}, at::Reduction::Sum, ignore_);
  }
  /// "perplexity": exp of the mean cross-entropy over all units of all batches.
  void score(const Outputs& outputs, const Batch& batch, Scores& scores) const {
    const auto units = batch.fields.get(field::kTarget).ne(ignore_).sum().item<double>();
    scores.add("perplexity", loss(outputs, batch).item<double>(), units, true);
  }

 private:
  std::int64_t vocabulary_, ignore_;
};

}  // namespace holdfast::task
