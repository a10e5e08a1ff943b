// Chooses the domain at each allocation; the optimizer does the moving.
#include "engine/placement.hpp"

#include <ATen/ATen.h>

#include "device/domain.hpp"

namespace holdfast::engine {

void place_moments(optim::Optimizer& optimizer, Placement placement, at::Device device) {
  if (placement == Placement::kHost && !device.is_cpu())
    throw Error(ExitCode::kUnavailable, "plan.optimizer_placement", "strategy",
                "the optimizer's state cannot stay on the host while the weights are on '" + device.str() +
                    "': streaming it is not built yet",
                "remove [strategy.optimizer_offload], or set run.device to \"cpu\"");
  const auto domain = placement == Placement::kHost ? device::Domain::kHost : device::Domain::kDevice;
  optimizer.place_moments([domain](at::IntArrayRef sizes, at::IntArrayRef strides, at::TensorOptions options) {
    const device::DomainScope scope(domain);
    return at::empty_strided(sizes, strides, options).zero_();
  });
}

}  // namespace holdfast::engine
