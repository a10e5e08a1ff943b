// Registers the hook "periodic_checkpoint".
#include "holdfast/plugin.hpp"

#include "periodic_checkpoint.hpp"

HOLDFAST_PLUGIN("periodic_checkpoint", "1.0", "saves at intervals") {
  registrar.add<holdfast::plugins::PeriodicCheckpoint>(
      "periodic_checkpoint", "asks for a checkpoint every so many updates, epochs or minutes");
}
