// Registers the model "mlp".
#include "holdfast/plugin.hpp"

#include "mlp.hpp"

HOLDFAST_PLUGIN("mlp", "1.0", "multi-layer perceptron for classification") {
  registrar.add<holdfast::plugins::Mlp>("mlp", "multi-layer perceptron on the flattened input, with cross-entropy");
}
