// The multi-layer perceptron: flattened input, hidden layers with one activation, linear classifier.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/module.hpp"
#include "holdfast/task.hpp"

namespace holdfast::plugins {

enum class Activation { kRelu, kGelu, kTanh };

struct MlpShape {
  std::int64_t features = 0;  ///< input values of a sample
  std::vector<std::int64_t> hidden;
  std::int64_t classes = 0;
  Activation activation = Activation::kRelu;
  double dropout = 0;
};

/// Linear layers named "0", "2", "4", ... with PyTorch's default initialisation, so that
/// `nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, c))` loads the saved weights as they are. Dropout does not
/// move the names: it is the identity when the weights are used.
class MlpNet : public torch::nn::Module {
 public:
  explicit MlpNet(MlpShape shape);
  at::Tensor forward(const at::Tensor& input, Segments& segments);

 private:
  at::Tensor activate(const at::Tensor& x) const;

  MlpShape shape_;
  std::vector<torch::nn::Linear> layers_;
  std::vector<std::string> segment_names_;  ///< "hidden.0", ... one a hidden layer
};

class Mlp : public ModuleModel<MlpNet, task::Classification> {
 public:
  static void declare(OptionTable& options);
  /// Input size and number of classes come from the data set. Error 78 when it does not say them.
  Mlp(const Options& options, const Context& context);
  [[nodiscard]] Traits traits() const override;

 private:
  bool drops_;
};

}  // namespace holdfast::plugins
