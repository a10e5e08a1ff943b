// LibTorch's autocast as a scope: operators that gain from a smaller dtype get casts of their arguments, those that
// need range or precision stay in fp32. Knows neither plan nor scale.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <optional>

namespace holdfast::device {

/// What the calling thread's autocast does on a kind of device.
struct AutocastState {
  std::optional<at::ScalarType> dtype;  ///< none: off
  /// Casts of parameters are kept and used again until the scope ends. Must be off where a part of a forward is
  /// computed once more: a cast from the first time belongs to the graph of the first time.
  bool cache = true;
};

AutocastState autocast_state(c10::DeviceType device);

/// The calling thread computes as `state` says until the scope ends; then as before, also by exception, and kept casts
/// are dropped, since an update changes what they were made of. Scopes nest. Backward needs none: it repeats the casts
/// of its forward. A segment that is computed again takes the state of its first time with `cache` off.
class AutocastScope {
 public:
  AutocastScope(c10::DeviceType device, AutocastState state);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  c10::DeviceType device_;
  bool enabled_before_, cache_before_, drop_casts_;
  at::ScalarType dtype_before_;
};

}  // namespace holdfast::device
