// Seeding of the default generators.
#include "device/random.hpp"

#include <ATen/ATen.h>
#include <torch/cuda.h>

#include "base/splitmix.hpp"

namespace holdfast::device {

void seed_generators(std::uint64_t seed, std::int64_t update, std::int64_t first_sample) {
  std::uint64_t key = base::mix(seed + base::kGoldenGamma);
  key = base::mix(key + base::kGoldenGamma * (static_cast<std::uint64_t>(update) + 1));
  key = base::mix(key + base::kGoldenGamma * (static_cast<std::uint64_t>(first_sample) + 1));
  static at::Generator generator = at::detail::getDefaultCPUGenerator();
  {
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(key);
  }
  if (at::hasCUDA() && torch::cuda::is_available()) torch::cuda::manual_seed_all(key);
}

}  // namespace holdfast::device
