// What a device can do with the small floating-point types. An interface, so that tests can be any machine.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

namespace holdfast::device {

enum class Support {
  kNative,    ///< the processor has instructions for it
  kEmulated,  ///< LibTorch computes it by way of fp32: right, but many times slower
  kNone,      ///< LibTorch refuses to compute with it
};

class Arithmetic {
 public:
  virtual ~Arithmetic() = default;
  [[nodiscard]] virtual Support support(at::ScalarType dtype) const = 0;
};

/// This machine. On the CPU: bf16 is native with AVX512-BF16 or AMX-BF16, fp16 with AVX512-FP16 or AMX-FP16 (what
/// oneDNN asks for); whether LibTorch computes it at all is tried with a product of two small matrices. A GPU is taken
/// as native; no GPU was tried.
class MachineArithmetic : public Arithmetic {
 public:
  explicit MachineArithmetic(at::Device device) : device_(device) {}
  [[nodiscard]] Support support(at::ScalarType dtype) const override;

 private:
  at::Device device_;
};

}  // namespace holdfast::device
