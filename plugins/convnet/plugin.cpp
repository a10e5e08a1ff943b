// Registers the model "convnet".
#include "holdfast/plugin.hpp"

#include "convnet.hpp"

HOLDFAST_PLUGIN("convnet", "1.0", "convolutional network for classification") {
  registrar.add<holdfast::plugins::Convnet>(
      "convnet", "blocks of convolution, normalisation, activation and pooling, then a classifier, with cross-entropy");
}
