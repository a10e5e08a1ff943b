// One loop a type; the type is chosen once a sample, so the loops are plain and the compiler makes vector code of them.
#include "convert.hpp"

#include <cmath>
#include <cstdio>
#include <type_traits>

namespace holdfast::plugins {
namespace {

constexpr std::int64_t kIgnored = -100;  // PyTorch's ignore_index

/// Calls fn with a pointer of the array's element type to value number `first`.
template <class F>
auto typed(const IdxArray& array, std::int64_t first, F&& fn) {
  const std::byte* at = array.bytes.get() + static_cast<std::size_t>(first) * bytes_of(array.type);
  switch (array.type) {
    case ElementType::kU8:
      return fn(reinterpret_cast<const std::uint8_t*>(at));
    case ElementType::kI8:
      return fn(reinterpret_cast<const std::int8_t*>(at));
    case ElementType::kI16:
      return fn(reinterpret_cast<const std::int16_t*>(at));
    case ElementType::kI32:
      return fn(reinterpret_cast<const std::int32_t*>(at));
    case ElementType::kF32:
      return fn(reinterpret_cast<const float*>(at));
    case ElementType::kF64:
      break;
  }
  return fn(reinterpret_cast<const double*>(at));
}

template <class T>
void divide(const T* in, std::int64_t count, double scale, float* out) {
  using Wide = std::conditional_t<(sizeof(T) < 4 || std::is_same_v<T, float>), float, double>;
  const auto divisor = static_cast<Wide>(scale);
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<float>(static_cast<Wide>(in[i]) / divisor);
}

/// The label, or -1 for what is none.
template <class T>
std::int64_t as_label(T value) {
  if constexpr (std::is_floating_point_v<T>)
    if (!(value >= 0 && value < 0x1p53 && value == std::floor(value))) return -1;
  return static_cast<std::int64_t>(value);
}

template <class T>
bool is_ignored(T value, std::optional<std::int64_t> ignore) {
  return ignore && static_cast<double>(value) == static_cast<double>(*ignore);
}

}  // namespace

void sample_to_float(const IdxArray& array, std::int64_t index, double scale, float* out) {
  typed(array, index * array.sample_values, [&](const auto* in) { divide(in, array.sample_values, scale, out); });
}

void sample_to_labels(const IdxArray& array, std::int64_t index, std::optional<std::int64_t> ignore,
                      std::int64_t* out) {
  typed(array, index * array.sample_values, [&](const auto* in) {
    for (std::int64_t i = 0; i < array.sample_values; ++i)
      out[i] = is_ignored(in[i], ignore) ? kIgnored : static_cast<std::int64_t>(in[i]);
  });
}

LabelSurvey survey_labels(const IdxArray& array, std::int64_t classes, std::optional<std::int64_t> ignore) {
  return typed(array, 0, [&](const auto* in) {
    LabelSurvey survey;
    for (std::int64_t i = 0; i < array.samples * array.sample_values; ++i) {
      if (is_ignored(in[i], ignore)) continue;
      const std::int64_t label = as_label(in[i]);
      if (label < 0 || (classes > 0 && label >= classes)) {
        survey.bad_value_index = i;
        return survey;
      }
      survey.largest = label > survey.largest ? label : survey.largest;
    }
    return survey;
  });
}

std::string value_text(const IdxArray& array, std::int64_t value_index) {
  return typed(array, value_index, [](const auto* value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(*value));
    return std::string(text);
  });
}

}  // namespace holdfast::plugins
