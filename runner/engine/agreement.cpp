// Compares what two data sets say of their fields.
#include "engine/agreement.hpp"

#include <string>

namespace holdfast::engine {
namespace {

std::string text_of(const FieldInfo& field) {
  std::string shape;
  for (const auto extent : field.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
  return field.dtype + " [" + shape + "]";
}

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ExitCode::kBadData, "eval.mismatch", "dataset.eval", what,
              "give both data sets the same kind of samples, or remove [dataset.eval]");
}

}  // namespace

void require_agreement(const DataFacts& train, const DataFacts& eval) {
  for (const FieldInfo& wanted : train.fields) {
    const FieldInfo* found = eval.find(wanted.name);
    if (!found) refuse("there is no field '" + wanted.name + "', which the training data has");
    if (text_of(*found) != text_of(wanted))
      refuse("field '" + wanted.name + "' is " + text_of(*found) + ", but the training data has " + text_of(wanted));
    if (found->classes > wanted.classes)
      refuse("field '" + wanted.name + "' has " + std::to_string(found->classes) +
             " classes, but the training data has " + std::to_string(wanted.classes));
  }
}

}  // namespace holdfast::engine
