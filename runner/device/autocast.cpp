// Three thread-local switches of LibTorch, set and put back.
#include "device/autocast.hpp"

#include <ATen/autocast_mode.h>

namespace holdfast::device {

AutocastState autocast_state(c10::DeviceType device) {
  AutocastState state;
  if (at::autocast::is_autocast_enabled(device)) state.dtype = at::autocast::get_autocast_dtype(device);
  state.cache = at::autocast::is_autocast_cache_enabled();
  return state;
}

AutocastScope::AutocastScope(c10::DeviceType device, AutocastState state)
    : device_(device),
      enabled_before_(at::autocast::is_autocast_enabled(device)),
      cache_before_(at::autocast::is_autocast_cache_enabled()),
      drop_casts_(state.dtype.has_value() && state.cache),
      dtype_before_(at::autocast::get_autocast_dtype(device)) {
  at::autocast::set_autocast_enabled(device, state.dtype.has_value());
  if (state.dtype) at::autocast::set_autocast_dtype(device, *state.dtype);
  at::autocast::set_autocast_cache_enabled(state.cache);
}

AutocastScope::~AutocastScope() {
  if (drop_casts_) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, enabled_before_);
  at::autocast::set_autocast_dtype(device_, dtype_before_);
  at::autocast::set_autocast_cache_enabled(cache_before_);
}

}  // namespace holdfast::device
