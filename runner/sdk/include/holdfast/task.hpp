// Ready-made weight, loss and scores for usual tasks; a model holds one. Header-only, compiled in the plugin.
#pragma once

#include <ATen/Functions.h>
#include <ATen/core/Reduction.h>

#include <cstdint>
#include <string>

#include "holdfast/model.hpp"

namespace holdfast::task {

/// One label a place: `target` is int64 [N] (or [N, d1, ...]), the model's `output` holds logits [N, classes] (or
/// [N, classes, d1, ...]). A unit is a label that is not `ignore_index`. Stateless after construction: thread-safe.
class Classification {
 public:
  static constexpr std::int64_t kIgnore = -100;  ///< as in PyTorch

  explicit Classification(std::int64_t classes, std::int64_t ignore_index = kIgnore)
      : classes_(classes), ignore_(ignore_index) {}

  /// Takes the number of classes from what the data set says of its field "target".
  /// Error 78 when there is no such field, it is not int64, or its classes are not known.
  static Classification from(const Context& context, std::int64_t ignore_index = kIgnore);

  [[nodiscard]] std::int64_t classes() const { return classes_; }

  /// Number of labels that count. Checks every label first: Error 65 names the sample, its label and the range, so a
  /// bad label never reaches a kernel. One pass over host memory.
  [[nodiscard]] double weight(const Batch& batch) const;
  /// Cross-entropy in nats, summed over the units.
  [[nodiscard]] at::Tensor loss(const Outputs& outputs, const Batch& batch) const {
    return at::cross_entropy_loss(outputs.get(field::kOutput), batch.fields.get(field::kTarget), {}, at::Reduction::Sum,
                                  ignore_);
  }
  /// "accuracy": share of units whose largest logit is the label's.
  void score(const Outputs& outputs, const Batch& batch, Scores& scores) const {
    const at::Tensor& target = batch.fields.get(field::kTarget);
    const at::Tensor counted = target.ne(ignore_);
    const at::Tensor hits = outputs.get(field::kOutput).argmax(1).eq(target).logical_and_(counted);
    scores.add("accuracy", hits.sum().item<double>(), counted.sum().item<double>());
  }

 private:
  [[nodiscard]] bool allowed(std::int64_t label) const { return label == ignore_ || (label >= 0 && label < classes_); }
  [[noreturn]] void refuse(const Batch& batch, const std::int64_t* labels, std::int64_t count) const;

  std::int64_t classes_, ignore_;
};

inline Classification Classification::from(const Context& context, std::int64_t ignore_index) {
  const FieldInfo* target = context.data ? context.data->find(field::kTarget) : nullptr;
  if (!target)
    throw Error(ExitCode::kBadRecipe, "model.no_target", context.table,
                "classification needs labels, but the training data set has no field 'target'",
                "give the data set its labels");
  if (target->dtype != "int64")
    throw Error(ExitCode::kBadRecipe, "model.target_dtype", context.table,
                "class labels must be int64, but the data set's field 'target' is " + target->dtype);
  if (target->classes < 1)
    throw Error(ExitCode::kBadRecipe, "model.no_classes", context.table,
                "the training data set does not say how many classes its field 'target' has",
                "use a data set that does, or set its option for the number of classes");
  return Classification(target->classes, ignore_index);
}

inline double Classification::weight(const Batch& batch) const {
  const at::Tensor& field = batch.fields.get(field::kTarget);
  if (field.scalar_type() != at::kLong)
    throw Error(ExitCode::kBadData, "data.label_dtype", "",
                std::string("class labels must be int64, but the batch's field 'target' is ") +
                    c10::toString(field.scalar_type()));
  const at::Tensor target = field.contiguous();
  const auto* labels = target.const_data_ptr<std::int64_t>();
  const std::int64_t count = target.numel();
  const auto classes = static_cast<std::uint64_t>(classes_);
  std::int64_t units = 0, bad = 0;
  for (std::int64_t i = 0; i < count; ++i) {  // no branches: the compiler makes it vector code
    const std::int64_t counted = labels[i] != ignore_;
    units += counted;
    bad += counted & static_cast<std::int64_t>(static_cast<std::uint64_t>(labels[i]) >= classes);
  }
  if (bad > 0) refuse(batch, labels, count);
  return static_cast<double>(units);
}

inline void Classification::refuse(const Batch& batch, const std::int64_t* labels, std::int64_t count) const {
  std::int64_t at = 0;
  while (allowed(labels[at])) ++at;
  const auto samples = static_cast<std::int64_t>(batch.samples.size());
  const std::int64_t row = samples > 0 ? at / (count / samples) : at;
  const std::int64_t index = samples > 0 ? batch.samples[static_cast<std::size_t>(row)].index : row;
  throw Error(ExitCode::kBadData, "data.label_range", "sample " + std::to_string(index),
              "label " + std::to_string(labels[at]) + " lies outside 0.." + std::to_string(classes_ - 1) +
                  ", the range of the model's " + std::to_string(classes_) + " classes",
              "labels count from 0; a place without a label holds " + std::to_string(ignore_));
}

}  // namespace holdfast::task
