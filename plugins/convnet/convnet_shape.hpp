// What a convnet looks like, from its options and the facts of its data, checked. Knows no tensors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/component.hpp"
#include "holdfast/options.hpp"

namespace holdfast::plugins {

enum class ConvnetNorm { kBatch, kGroup, kNone };
enum class ConvnetActivation { kRelu, kGelu, kSilu, kTanh };
enum class ConvnetPool { kMax, kAverage, kNone };
enum class ConvnetHead { kFlatten, kAverage };

struct ConvnetShape {
  std::int64_t input_channels = 0, height = 0, width = 0;  ///< of a sample; height and width in pixels
  std::vector<std::int64_t> channels;                      ///< that leave each block
  std::int64_t kernel = 3;                                 ///< side in pixels, odd
  ConvnetNorm norm = ConvnetNorm::kBatch;
  std::int64_t groups = 0;  ///< of GroupNorm
  ConvnetActivation activation = ConvnetActivation::kRelu;
  ConvnetPool pool = ConvnetPool::kMax;
  ConvnetHead head = ConvnetHead::kFlatten;
  std::vector<std::int64_t> hidden;  ///< widths of the head's hidden layers
  double dropout = 0;
  std::int64_t classes = 0;

  /// Values of a sample that reach the head's first linear layer.
  [[nodiscard]] std::int64_t features() const;
};

void declare_convnet(OptionTable& options);

/// All but `classes`. Error 78, naming the context's table, where the options contradict each other or do not fit the
/// data set's field "input": [H, W] or [C, H, W], float32 or float64.
ConvnetShape convnet_shape(const Options& options, const Context& context);

}  // namespace holdfast::plugins
