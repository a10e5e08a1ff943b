// Choice of the device a run computes on, and the process-wide arithmetic switches.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace holdfast::device {

/// "auto", "cpu", "cuda" or "cuda:N". "auto" takes a GPU where the build and a driver are there.
/// Throws Error 69 when the device does not exist or this build cannot use it; never falls back silently.
at::Device select(const std::string& name);

/// Only algorithms that give equal bits in equal runs; those that cannot throw. Process-wide.
void set_deterministic(bool on);

}  // namespace holdfast::device
