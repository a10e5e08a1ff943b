// The model "gpt": a decoder-only transformer over tokens, trained to tell the next one.
#pragma once

#include "gpt_net.hpp"
#include "holdfast/module.hpp"
#include "holdfast/task.hpp"

namespace holdfast::plugins {

class Gpt : public ModuleModel<GptNet, task::LanguageModel> {
 public:
  static void declare(OptionTable& options);
  /// Vocabulary and context come from the data set. Error 78 when it does not say them, when they do not fit, or when
  /// the width is no multiple of the heads.
  Gpt(const Options& options, const Context& context);
  /// Number of target tokens that are not masked. Checks targets and input tokens: Error 65 names sample, token and
  /// range.
  [[nodiscard]] double weight(const Batch& batch) const override;
  [[nodiscard]] Traits traits() const override;

 private:
  bool drops_;
};

}  // namespace holdfast::plugins
