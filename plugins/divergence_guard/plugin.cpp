// Registers the hook "divergence_guard".
#include "holdfast/plugin.hpp"

#include "divergence_guard.hpp"

HOLDFAST_PLUGIN("divergence_guard", "1.0", "acts when training diverges") {
  registrar.add<holdfast::plugins::DivergenceGuard>(
      "divergence_guard", "skips, rolls back or stops when the loss jumps or a number is not finite");
}
