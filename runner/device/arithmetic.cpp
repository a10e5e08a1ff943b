// Asks LibTorch which instructions the processor has, and tries the rest.
#include "device/arithmetic.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cpu/Utils.h>

#include <string>

namespace holdfast::device {
namespace {

bool has_instructions(const std::string& dtype) {
  const auto capabilities = at::cpu::get_cpu_capabilities();
  const auto has = [&](const std::string& name) {
    const auto found = capabilities.find(name);
    return found != capabilities.end() && found->second.isBool() && found->second.toBool();
  };
  return has("avx512_" + dtype) || has("amx_" + dtype);
}

bool multiplies(at::Device device, at::ScalarType dtype) {
  try {
    const at::NoGradGuard no_grad;
    const at::Tensor ones = at::ones({2, 2}, at::TensorOptions(device).dtype(dtype));
    return at::matmul(ones, ones).sum().item<double>() == 8;
  } catch (const c10::Error&) {
    return false;
  }
}

}  // namespace

Support MachineArithmetic::support(at::ScalarType dtype) const {
  if (!multiplies(device_, dtype)) return Support::kNone;
  if (!device_.is_cpu() || (dtype != at::kBFloat16 && dtype != at::kHalf)) return Support::kNative;
  return has_instructions(dtype == at::kBFloat16 ? "bf16" : "fp16") ? Support::kNative : Support::kEmulated;
}

}  // namespace holdfast::device
