// A measurement as tables of at most 100 columns, and as JSON. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/measurement.hpp"

namespace holdfast::app {

/// Ends in a new line. Figures that are not known, since memory ran out before, stand as "-".
std::string measurement_text(const engine::Measurement& measured);

/// Fields as runner/docs/measurement.md tells them.
nlohmann::ordered_json measurement_json(const engine::Measurement& measured);

/// One sentence when reduced precision cost more time than fp32; `owner` chose it. Empty otherwise.
std::string slower_precision(const engine::Measurement& measured, const std::string& owner);

}  // namespace holdfast::app
