// Tensors as names, dtypes, shapes and bytes: what passes between the engine (which has tensors) and the checkpoint
// store (which has files). Owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  std::span<const std::byte> bytes{};
  /// Where this is set, `bytes` is empty: what it returns are `made_size` bytes, made now, and gone when any tensor of
  /// the state is read again. So a state is written without a second copy of it in memory.
  std::function<std::span<const std::byte>()> make{};
  std::size_t made_size = 0;

  [[nodiscard]] std::size_t size() const { return make ? made_size : bytes.size(); }
  [[nodiscard]] std::span<const std::byte> read() const { return make ? make() : bytes; }
};

/// Everything that is saved, at one window edge; each `_json` is one JSON object.
/// `progress_json` is covered by the digest as a whole: scaler, counters, data position, best metric, hooks' and
/// strategies' own state; nothing that differs between two runs of the same training. `extra_json` is saved and given
/// back beside it but never digested: plan history, times, threads, device. `identity_json` must match on resume.
struct StateView {
  std::vector<TensorView> model;      ///< parameters, then buffers
  std::vector<TensorView> optimizer;  ///< moments and step counts
  std::string progress_json;
  std::string identity_json;
  std::string extra_json;   ///< informative; empty means {}
  std::size_t weights = 0;  ///< so many of `model`, from the first, must be finite to be saved
};

}  // namespace holdfast::base
