// The task of naming the class of a sample, or of each of its places. Header-only, compiled in the plugin.
#pragma once

#include <cstdint>

#include "holdfast/model.hpp"
#include "holdfast/task/cross_entropy.hpp"
#include "holdfast/task/labels.hpp"

namespace holdfast::task {

/// One label a place: `target` is int64 [N] (or [N, d1, ...]), the model's `output` holds logits [N, classes] (or
/// [N, classes, d1, ...]). A unit is a label that is not `ignore_index`. Stateless after construction: thread-safe.
class Classification {
 public:
  static constexpr std::int64_t kIgnore = task::kIgnore;

  explicit Classification(std::int64_t classes, std::int64_t ignore_index = kIgnore)
      : classes_(classes), ignore_(ignore_index) {}

  /// Takes the number of classes from what the data set says of its field "target".
  /// Error 78 when there is no such field, it is not int64, or its classes are not known.
  static Classification from(const Context& context, std::int64_t ignore_index = kIgnore) {
    return Classification(label_field(context, field::kTarget, "classification needs labels", "class labels").classes,
                          ignore_index);
  }

  [[nodiscard]] std::int64_t classes() const { return classes_; }

  /// Number of labels that count. Checks every label first: Error 65 names the sample, its label and the range, so a
  /// bad label never reaches a kernel. One pass over host memory.
  [[nodiscard]] double weight(const Batch& batch) const {
    return static_cast<double>(
        count_labels(batch, {field::kTarget, "label", "labels", "class labels", "classes", classes_, ignore_}));
  }
  /// Cross-entropy in nats, summed over the units.
  [[nodiscard]] at::Tensor loss(const Outputs& outputs, const Batch& batch) const {
    return cross_entropy_sum(outputs.get(field::kOutput), batch.fields.get(field::kTarget), ignore_);
  }
  /// "accuracy": share of units whose largest logit is the label's.
  void score(const Outputs& outputs, const Batch& batch, Scores& scores) const {
    const at::Tensor& target = batch.fields.get(field::kTarget);
    const at::Tensor counted = target.ne(ignore_);
    const at::Tensor hits = outputs.get(field::kOutput).argmax(1).eq(target).logical_and_(counted);
    scores.add("accuracy", hits.sum().item<double>(), counted.sum().item<double>());
  }

 private:
  std::int64_t classes_, ignore_;
};

}  // namespace holdfast::task
