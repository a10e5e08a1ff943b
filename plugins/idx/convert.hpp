// Values of an IDX array as float32 or int64, sample by sample. Torch-free, no threads, compiled for vector code.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "idx_file.hpp"

namespace holdfast::plugins {

/// out[i] = value / scale, rounded once, as NumPy's float32 division gives it.
void sample_to_float(const IdxArray& array, std::int64_t index, double scale, float* out);

/// Asks the processor for a sample that is read soon: in shuffled order each one lies where no cache has looked yet.
inline void fetch_ahead(const IdxArray& array, std::int64_t index) {
  constexpr std::size_t kCacheLine = 64;
  const std::byte* at = array.sample(index);
  const std::size_t size = std::min<std::size_t>(array.sample_bytes(), 4096);  // the rest follows by itself
  for (std::size_t i = 0; i < size; i += kCacheLine) __builtin_prefetch(at + i);
}

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
