// The plan's precision for one update, and whether the device is up to it.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>

#include "device/arithmetic.hpp"
#include "holdfast/step_plan.hpp"

namespace holdfast::engine {

/// Arithmetic of forward and loss in the `update`-th update (1-based): full_precision_updates come first. An evaluation
/// takes that of the last applied update, so that it judges what trains; before the first update that of the first.
Precision precision_at(const StepPlan& plan, std::int64_t update);

/// The dtype that autocast computes in; none for kFull.
std::optional<at::ScalarType> autocast_dtype(Precision precision);

/// "fp32", "bf16", "fp16".
const char* name_of(Precision precision);

/// Throws Error 69 when the device cannot compute in the plan's precision: another machine may.
void require_arithmetic(const StepPlan& plan, const device::Arithmetic& arithmetic);

/// One sentence when the device can, but only slowly; empty otherwise.
std::string slow_arithmetic(const StepPlan& plan, const device::Arithmetic& arithmetic);

}  // namespace holdfast::engine
