// Counts and checks the labels of a batch on the host, before any kernel sees them. Shared by the ready-made tasks and
// by models that look up tokens; knows no loss.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/model.hpp"

namespace holdfast::task {

inline constexpr std::int64_t kIgnore = -100;  ///< as in PyTorch

/// Which labels are allowed, and how errors speak of them.
struct LabelRule {
  const char* field;                   ///< "target"
  const char* one;                     ///< "label": names a value
  const char* many;                    ///< "labels": begins the hint
  const char* kind;                    ///< "class labels": begins the sentence on a wrong dtype
  const char* set;                     ///< "classes": what the range counts
  std::int64_t classes = 0;            ///< labels lie in [0, classes)
  std::optional<std::int64_t> ignore;  ///< a place that does not count
};

/// What the training data says of an int64 field with classes, for a task or model that needs it. `need` begins the
/// sentence when there is no such field: "classification needs labels". Error 78 otherwise.
inline const FieldInfo& label_field(const Context& context, const char* name, const std::string& need,
                                    const std::string& kind) {
  const FieldInfo* found = context.data ? context.data->find(name) : nullptr;
  const std::string field = std::string("field '") + name + "'";
  if (!found)
    throw Error(ExitCode::kBadRecipe, std::string("model.no_") + name, context.table,
                need + ", but the training data set has no " + field, "give the data set its labels");
  if (found->dtype != "int64")
    throw Error(ExitCode::kBadRecipe, std::string("model.") + name + "_dtype", context.table,
                kind + " must be int64, but the data set's " + field + " is " + found->dtype);
  if (found->classes < 1)
    throw Error(ExitCode::kBadRecipe, "model.no_classes", context.table,
                "the training data set does not say how many classes its " + field + " has",
                "use a data set that does, or set its option for the number of classes");
  return *found;
}

[[noreturn]] inline void refuse_label(const Batch& batch, const LabelRule& rule, const std::int64_t* labels,
                                      std::int64_t count) {
  const auto allowed = [&](std::int64_t label) { return label == rule.ignore || (label >= 0 && label < rule.classes); };
  std::int64_t at = 0;
  while (allowed(labels[at])) ++at;
  const auto samples = static_cast<std::int64_t>(batch.samples.size());
  const std::int64_t row = samples > 0 ? at / (count / samples) : at;
  const std::int64_t index = samples > 0 ? batch.samples[static_cast<std::size_t>(row)].index : row;
  std::string hint = std::string(rule.many) + " count from 0";
  if (rule.ignore) hint += std::string("; a place without a ") + rule.one + " holds " + std::to_string(*rule.ignore);
  throw Error(ExitCode::kBadData, "data.label_range", "sample " + std::to_string(index),
              std::string(rule.one) + " " + std::to_string(labels[at]) + " lies outside 0.." +
                  std::to_string(rule.classes - 1) + ", the range of the model's " + std::to_string(rule.classes) +
                  " " + rule.set,
              hint);
}

/// Number of labels in the field that are not ignored. Error 65 when the field is not int64, or names the first sample
/// with a label that is not allowed, the label and the range. One pass over host memory; thread-safe.
inline std::int64_t count_labels(const Batch& batch, const LabelRule& rule) {
  const at::Tensor& field = batch.fields.get(rule.field);
  if (field.scalar_type() != at::kLong)
    throw Error(ExitCode::kBadData, "data.label_dtype", "",
                std::string(rule.kind) + " must be int64, but the batch's field '" + rule.field + "' is " +
                    c10::toString(field.scalar_type()));
  const at::Tensor values = field.contiguous();
  const auto* labels = values.const_data_ptr<std::int64_t>();
  const std::int64_t count = values.numel();
  const auto classes = static_cast<std::uint64_t>(rule.classes);
  const std::int64_t any = rule.ignore.has_value(), ignore = rule.ignore.value_or(0);
  std::int64_t units = 0, bad = 0;
  for (std::int64_t i = 0; i < count; ++i) {  // no branches: the compiler makes it vector code
    const std::int64_t counted = 1 - (any & static_cast<std::int64_t>(labels[i] == ignore));
    units += counted;
    bad += counted & static_cast<std::int64_t>(static_cast<std::uint64_t>(labels[i]) >= classes);
  }
  if (bad > 0) refuse_label(batch, rule, labels, count);
  return units;
}

}  // namespace holdfast::task
