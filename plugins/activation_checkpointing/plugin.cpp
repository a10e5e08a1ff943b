// Registers the strategy "activation_checkpointing".
#include "holdfast/plugin.hpp"

#include "activation_checkpointing.hpp"

HOLDFAST_PLUGIN("activation_checkpointing", "1.0", "recomputes segments in the backward pass") {
  registrar.add<holdfast::plugins::ActivationCheckpointing>(
      "activation_checkpointing",
      "keeps a segment's inputs only and runs it again in the backward pass: less memory, a third more time; exact");
}
