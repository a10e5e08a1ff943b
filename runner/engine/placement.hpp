// Where the optimizer's moments live: in the device domain beside the weights, or in the host domain.
#pragma once

#include <c10/core/Device.h>

#include "holdfast/step_plan.hpp"
#include "optim/optimizer.hpp"

namespace holdfast::engine {

/// Moves the moments that there are and sends those to come to `placement`; the bits of updates and checkpoints stay.
/// On the CPU the kernels update them in place in either domain; the device budget counts them only in its own.
/// `device`: of the parameters. Throws Error 69 for the host domain with parameters on a GPU, which need streaming;
/// what the allocator throws when the memory of the new place runs out, and then everything is where it was.
void place_moments(optim::Optimizer& optimizer, Placement placement, at::Device device);

}  // namespace holdfast::engine
