// Registers the strategy "amp".
#include "holdfast/plugin.hpp"

#include "amp.hpp"

HOLDFAST_PLUGIN("amp", "1.0", "automatic mixed precision in bf16 or fp16") {
  registrar.add<holdfast::plugins::Amp>(
      "amp",
      "computes forward and loss in bf16 or fp16 where that is safe; weights, gradients "
      "and optimizer stay fp32; not exact");
}
