// An option table for people and as JSON. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "holdfast/options.hpp"

namespace holdfast::app {

/// One block an option: name, type, default, bounds; its sentence below.
std::string option_lines(const OptionTable& table);
nlohmann::ordered_json option_json(const OptionTable& table);

}  // namespace holdfast::app
