// Tensors as names, dtypes, shapes and bytes: what passes between the engine (which has tensors) and the checkpoint
// store (which has files). Owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace holdfast::base {

/// dtype is a safetensors name: F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL. Bytes are row-major, little-endian,
/// contiguous.
struct TensorView {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Everything that is saved, at one window edge. `progress` is the JSON of counters, data position, best metric, hooks'
/// and strategies' state (engine/progress); identity is what must match on resume.
struct StateView {
  std::vector<TensorView> model;      ///< parameters and buffers
  std::vector<TensorView> optimizer;  ///< moments and step counts
  std::string progress_json;
  std::string identity_json;
};

}  // namespace holdfast::base
