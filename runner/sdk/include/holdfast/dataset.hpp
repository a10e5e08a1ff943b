// A data set answers "read these samples into this batch"; order, shuffling and threads are the runner's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "holdfast/component.hpp"
#include "holdfast/options.hpp"
#include "holdfast/tensor.hpp"

namespace holdfast {

/// Identifies the content of a data set: equal data gives equal text, wherever and whenever it lies. No paths, no
/// mtimes.
using Fingerprint = std::string;

/// Names of the usual fields. A data set may have more, or others; ready-made tasks and models look for these.
namespace field {
inline constexpr const char* kInput = "input";    ///< what the model sees: float32 [N, shape...]
inline constexpr const char* kTarget = "target";  ///< what it should say: class labels are int64 [N], -100 = no label
inline constexpr const char* kOutput = "output";  ///< what a model with one output says
}  // namespace field

struct SampleRef {
  std::int64_t index = 0;     ///< in the data set
  std::int64_t position = 0;  ///< in the epoch's order
};

/// A batch on the host. Every field's first dimension is samples.size(). Constant once built.
struct Batch {
  NamedTensors fields;
  std::vector<SampleRef> samples;
};

/// A stream of random numbers that belongs to one sample of one epoch: the same whatever thread reads it.
/// SplitMix64 (Steele, Lea, Flood 2014) over a key mixed from (seed, epoch, sample index).
class SampleRng {
 public:
  SampleRng(std::uint64_t seed, std::int64_t epoch)
      : base_(mix(seed + kGamma * (static_cast<std::uint64_t>(epoch) + 1))) {}
  /// The stream of one sample. Training only; evaluation passes epoch 0.
  [[nodiscard]] SampleRng of(std::int64_t index) const {
    SampleRng rng = *this;
    rng.state_ = mix(base_ + kGamma * (static_cast<std::uint64_t>(index) + 1));
    return rng;
  }
  /// Uniform over all 64-bit values.
  std::uint64_t next() { return mix(state_ += kGamma); }
  /// Uniform in [0, 1), 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

 private:
  static constexpr std::uint64_t kGamma = 0x9E3779B97F4A7C15ULL;
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  std::uint64_t base_, state_ = 0;
};

/// Where a data set puts what it read. One per batch, used by one thread.
class HOLDFAST_VISIBLE BatchBuilder {
 public:
  virtual ~BatchBuilder() = default;
  /// The tensor of a field, [indices.size(), shape...], uninitialised at the first call; fill row by row.
  virtual at::Tensor field(std::string_view name, at::ScalarType dtype, at::IntArrayRef shape) = 0;
  /// Marks the sample at `position` of `indices` as corrupt; its rows are ignored. `source` is a file or shard.
  virtual void fail(std::size_t position, std::string source, std::string reason) = 0;
};

class HOLDFAST_VISIBLE Dataset : public Component {
 public:
  static constexpr Kind kKind = Kind::kDataset;
  /// Number of samples, fixed for the life of the object.
  [[nodiscard]] virtual std::int64_t size() const = 0;
  [[nodiscard]] virtual Fingerprint fingerprint() const = 0;
  [[nodiscard]] virtual DataFacts facts() const = 0;
  /// Reads samples; called from several loader threads at once. `rng.of(index)` is the stream of a sample.
  virtual void read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng& rng) const = 0;
};

/// For those who prefer one sample at a time. A thrown Error with code 65 marks the sample corrupt.
class HOLDFAST_VISIBLE PerSample : public Dataset {
 public:
  /// Tensors of one sample, without batch dimension; names, dtypes and shapes equal for all samples.
  [[nodiscard]] virtual NamedTensors get(std::int64_t index, SampleRng rng) const = 0;
  void read(std::span<const std::int64_t> indices, BatchBuilder& into, const SampleRng& rng) const override {
    for (std::size_t row = 0; row < indices.size(); ++row) {
      try {
        for (const auto& [name, tensor] : get(indices[row], rng.of(indices[row])))
          into.field(name, tensor.scalar_type(), tensor.sizes())[static_cast<std::int64_t>(row)].copy_(tensor);
      } catch (const Error& error) {
        if (error.code() != ExitCode::kBadData) throw;
        into.fail(row, error.where(), error.message());
      }
    }
  }
};

}  // namespace holdfast
