// Values of an IDX array as float32 or int64, sample by sample. Torch-free, no threads, compiled for vector code.
#pragma once

#include <cstdint>
#include <optional>

#include "idx_file.hpp"

namespace holdfast::plugins {

/// out[i] = value / scale, rounded once, as NumPy's float32 division gives it.
void sample_to_float(const IdxArray& array, std::int64_t index, double scale, float* out);

/// out[i] = label, or -100 where it equals `ignore`. The labels were checked before.
void sample_to_labels(const IdxArray& array, std::int64_t index, std::optional<std::int64_t> ignore, std::int64_t* out);

struct LabelSurvey {
  std::int64_t largest = -1;  ///< -1: no label counts
  std::int64_t bad_value_index =
      -1;  ///< position (in values) of the first label that is negative, beyond or no integer
};
/// Looks at every label once. `classes` 0: no upper bound.
LabelSurvey survey_labels(const IdxArray& array, std::int64_t classes, std::optional<std::int64_t> ignore);
/// One value as text: "10", "1.5".
std::string value_text(const IdxArray& array, std::int64_t value_index);

}  // namespace holdfast::plugins
