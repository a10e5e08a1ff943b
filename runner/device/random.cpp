// Seeding of the default generators.
#include "device/random.hpp"

#include <torch/torch.h>

namespace holdfast::device {
namespace {

// Finaliser of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace

void seed_generators(std::uint64_t seed, std::int64_t update, std::int64_t first_sample) {
  constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15ULL;
  std::uint64_t key = mix(seed + kGamma);
  key = mix(key + kGamma * (static_cast<std::uint64_t>(update) + 1));
  key = mix(key + kGamma * (static_cast<std::uint64_t>(first_sample) + 1));
  static at::Generator generator = at::detail::getDefaultCPUGenerator();
  {
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(key);
  }
  if (torch::hasCUDA() && torch::cuda::is_available()) torch::cuda::manual_seed_all(key);
}

}  // namespace holdfast::device
