// Made-up sequences of three classes: sine, square and sawtooth waves of random period and phase, with noise that is new
// in every epoch.
#include <ATen/ATen.h>
#include <holdfast/dataset.hpp>
#include <holdfast/plugin.hpp>

#include <cmath>
#include <numbers>

namespace {

using namespace holdfast;

class Waves : public PerSample {
 public:
  static void declare(OptionTable& options) {
    options.integer("samples", 1000).min(1).doc("size of the data set");
    options.integer("length", 32).min(8).doc("time steps of a sample");
    options.number("noise", 0.1).min(0).doc("half-width of the uniform noise");
    options.integer("seed", 1).min(0).doc("another seed gives other waves: use one for training, one for evaluation");
  }
  Waves(const Options& options, const Context&)
      : samples_(options.integer("samples")),
        length_(options.integer("length")),
        noise_(options.number("noise")),
        seed_(options.integer("seed")) {}

  std::int64_t size() const override { return samples_; }
  Fingerprint fingerprint() const override {
    return "waves 1: " + std::to_string(samples_) + " x " + std::to_string(length_) + ", noise " +
           std::to_string(noise_) + ", seed " + std::to_string(seed_);
  }
  DataFacts facts() const override {
    return {{{field::kInput, "float32", {length_, 1}}, {field::kTarget, "int64", {}, 3}}};
  }
  NamedTensors get(std::int64_t index, SampleRng noise) const override {
    SampleRng shape = SampleRng(static_cast<std::uint64_t>(seed_), 0).of(index);  // the same in every epoch
    const std::int64_t kind = index % 3;
    const double period = 8 + 8 * shape.uniform(), phase = shape.uniform();
    at::Tensor wave = at::empty({length_, 1});
    float* values = wave.mutable_data_ptr<float>();
    for (std::int64_t t = 0; t < length_; ++t) {
      const double turn = static_cast<double>(t) / period + phase, part = turn - std::floor(turn);
      const double clean = kind == 0   ? std::sin(2 * std::numbers::pi * turn)
                           : kind == 1 ? (part < 0.5 ? 1.0 : -1.0)
                                       : 2 * part - 1;
      values[t] = static_cast<float>(clean + noise_ * (2 * noise.uniform() - 1));
    }
    return {{field::kInput, wave}, {field::kTarget, at::scalar_tensor(kind, at::kLong)}};
  }

 private:
  std::int64_t samples_, length_;
  double noise_;
  std::int64_t seed_;
};

}  // namespace

HOLDFAST_PLUGIN("waves", "0.1.0", "made-up sequences") { registrar.add<Waves>("waves", "sine, square, sawtooth"); }
