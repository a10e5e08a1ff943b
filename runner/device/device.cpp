// Device selection. A CPU build says what is missing instead of computing elsewhere.
#include "device/device.hpp"

#include <ATen/ATen.h>
#include <c10/core/AllocatorConfig.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include "holdfast/error.hpp"

namespace holdfast::device {
namespace {

[[noreturn]] void unavailable(const std::string& name, const std::string& why) {
  throw Error(ExitCode::kUnavailable, "device.unavailable", "run.device", "device '" + name + "' " + why,
              "set run.device to \"cpu\", or use a build of LibTorch with CUDA on a machine with a GPU");
}

at::Device select_cuda(const std::string& name) {
  if (!torch::cuda::is_available())
    unavailable(name, at::hasCUDA() ? "cannot be used: no driver or no GPU answers"
                                    : "was asked for, but this build of LibTorch (" TORCH_VERSION ") has no CUDA");
  const std::string number = name == "cuda" ? "0" : name.substr(5);
  const bool digits = !number.empty() && number.size() <= 3 && number.find_first_not_of("0123456789") == number.npos;
  const int index = digits ? std::stoi(number) : -1;
  const int count = static_cast<int>(torch::cuda::device_count());
  if (index < 0 || index >= count) unavailable(name, "is not there: this machine has " + std::to_string(count));
  return {at::kCUDA, static_cast<at::DeviceIndex>(index)};
}

}  // namespace

at::Device select(const std::string& name) {
  if (name == "cpu") return at::kCPU;
  if (name == "auto") return at::hasCUDA() && torch::cuda::is_available() ? select_cuda("cuda") : at::kCPU;
  if (name == "cuda" || name.starts_with("cuda:")) return select_cuda(name);
  throw Error(ExitCode::kBadRecipe, "device.unknown", "run.device",
              "got '" + name + "'; a device is \"auto\", \"cpu\", \"cuda\" or \"cuda:N\"");
}

void set_deterministic(bool on) {
  at::globalContext().setDeterministicAlgorithms(on, /*warn_only=*/false);
  // Filling every fresh tensor with NaN would cost a pass over memory and change no result of a correct model.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

void set_cuda(const CudaSettings& settings) {
  at::globalContext().setBenchmarkCuDNN(settings.cudnn_benchmark);
  at::globalContext().setAllowTF32CuDNN(settings.tf32);
  at::globalContext().setAllowTF32CuBLAS(settings.tf32);
  std::string allocator = settings.expandable_segments ? "expandable_segments:True" : "";
  if (settings.max_split_size > 0)
    allocator +=
        (allocator.empty() ? "" : ",") + ("max_split_size_mb:" + std::to_string(settings.max_split_size >> 20));
  if (!allocator.empty()) c10::CachingAllocator::setAllocatorSettings(allocator);
}

}  // namespace holdfast::device
