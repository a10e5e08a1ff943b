// Registers the strategy "optimizer_offload".
#include "holdfast/plugin.hpp"

#include "optimizer_offload.hpp"

HOLDFAST_PLUGIN("optimizer_offload", "1.0", "optimizer state outside the device's memory") {
  registrar.add<holdfast::plugins::OptimizerOffload>(
      "optimizer_offload",
      "keeps the optimizer's moments in the host domain; exact, the device budget no longer counts them");
}
