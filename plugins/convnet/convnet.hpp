// The model "convnet": the network with cross-entropy over the data set's classes.
#pragma once

#include "convnet_net.hpp"
#include "holdfast/module.hpp"
#include "holdfast/task.hpp"

namespace holdfast::plugins {

class Convnet : public ModuleModel<ConvnetNet, task::Classification> {
 public:
  static void declare(OptionTable& options) { declare_convnet(options); }
  /// Image size and number of classes come from the data set. Error 78 when they do not fit the options.
  Convnet(const Options& options, const Context& context);
  [[nodiscard]] Traits traits() const override;

 private:
  bool drops_;
};

}  // namespace holdfast::plugins
