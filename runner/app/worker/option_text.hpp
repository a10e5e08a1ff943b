// An option table as JSON. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include "holdfast/options.hpp"

namespace holdfast::app {

nlohmann::ordered_json option_json(const OptionTable& table);

}  // namespace holdfast::app
