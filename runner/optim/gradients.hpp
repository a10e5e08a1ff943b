// The gradients of all parameters together: are they finite, how long are they, clip, clear.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "holdfast/tensor.hpp"

namespace holdfast::optim {

/// Looks at the gradients that the parameters hold now; owns none. One thread.
class Gradients {
 public:
  explicit Gradients(NamedTensors parameters) : parameters_(std::move(parameters)) {}

  struct Measure {
    bool finite = true;
    double norm = 0;  ///< Euclidean, over all gradients; infinite or NaN when not finite
  };
  /// One pass over memory for both answers. The sum is taken in an order that depends on the shapes alone, not on
  /// threads, so equal gradients give equal bits.
  [[nodiscard]] Measure measure();
  /// Divides all gradients by `scale`, in place: exact when it is a power of two and no number becomes subnormal.
  /// Infinities and NaN stay what they are.
  void divide(double scale);
  /// Scales all gradients by max / (norm + 1e-6) when norm > max, as torch's clip_grad_norm_ does. In place.
  void clip(double norm, double max);
  /// Lets go of all gradients.
  void clear();
  /// The gradients by parameter name, those that are there.
  [[nodiscard]] NamedTensors named() const;

 private:
  NamedTensors parameters_;
  std::vector<std::pair<const void*, std::size_t>> pieces_;  // scratch of measure, kept to allocate once
  std::vector<double> sums_;
};

/// Sum of squares of `values`, in double over blocks of float lanes; exact path when floats overflow.
double sum_of_squares(std::span<const float> values);
double sum_of_squares(std::span<const double> values);

}  // namespace holdfast::optim
