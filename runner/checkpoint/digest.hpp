// XXH3-128: of bytes, of tensors and of a whole state. No signature: it finds damage, not forgery.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/state_view.hpp"

namespace holdfast::checkpoint {

struct Counters;

/// Streaming XXH3-128 (xxHash specification 0.2.0, canonical big-endian form in hex).
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  /// 32 lower-case hexadecimal digits of everything added so far.
  [[nodiscard]] std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hash_of(std::string_view text);
std::string hash_of(std::span<const std::byte> bytes);

/// The digest of a state, the same on every machine: XXH3-128 of this text, where each tensor stands by the XXH3-128 of
/// its bytes and tensors are sorted by name within their file:
///   holdfast-state-1\n
///   FILE NAME-IN-JSON DTYPE [d0,d1] TENSOR-HASH\n      (model first, then optimizer)
///   counters UPDATE EPOCH SAMPLES\n
///   progress CANONICAL-JSON\n                           (keys sorted, no spaces, shortest round-trip numbers)
/// Not in it: identity, extra, times, attempt, host, run id. Error 70 when progress is not a JSON object.
std::string state_digest(const base::StateView& state, const Counters& counters);
/// Of one list of tensors alone: the lines above without counters and progress, FILE being "model".
std::string tensors_digest(const std::vector<base::TensorView>& tensors);

}  // namespace holdfast::checkpoint
