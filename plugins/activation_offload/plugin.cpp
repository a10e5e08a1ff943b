// Registers the strategy "activation_offload".
#include "holdfast/plugin.hpp"

#include "activation_offload.hpp"

HOLDFAST_PLUGIN("activation_offload", "1.0", "keeps saved tensors in host memory until the backward pass") {
  registrar.add<holdfast::plugins::ActivationOffload>(
      "activation_offload",
      "keeps the tensors that the backward pass needs in host memory, and brings them back in time; exact");
}
