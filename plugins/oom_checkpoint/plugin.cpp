// Registers the hook "oom_checkpoint".
#include "holdfast/plugin.hpp"

#include "oom_checkpoint.hpp"

HOLDFAST_PLUGIN("oom_checkpoint", "1.0", "saves when memory runs out for good") {
  registrar.add<holdfast::plugins::OomCheckpoint>("oom_checkpoint",
                                                  "asks for a checkpoint when the memory ladder is exhausted");
}
