// The password of a Pushgateway, from where the user keeps it.
#pragma once

#include <optional>
#include <string>

#include "spec/recipe.hpp"
#include "telemetry/metrics/push.hpp"

namespace holdfast::app {

/// What the recipe says of pushing; none when it says nothing. Credentials come from metrics.password_file or, without
/// one, from HOLDFAST_PUSH_CREDENTIALS: "USER:PASSWORD", up to the first new line. Error 66 when the file cannot be
/// read, 78 when there is no colon; neither shows what was read.
std::optional<telemetry::PushSettings> push_settings(const spec::Recipe& recipe);

}  // namespace holdfast::app
