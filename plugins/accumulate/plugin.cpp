// Registers the strategy "accumulate".
#include "holdfast/plugin.hpp"

#include "accumulate.hpp"

HOLDFAST_PLUGIN("accumulate", "1.0", "gradient accumulation over micro-batches") {
  registrar.add<holdfast::plugins::Accumulate>("accumulate",
                                               "splits every batch into micro-batches; exact up to summation order");
}
