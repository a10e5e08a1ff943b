// How long one window took, by what was done. Knows no run.
#pragma once

#include "holdfast/options.hpp"

namespace holdfast::telemetry {

/// Time of the stages of one window, on the training thread.
struct StageTimes {
  Duration data{}, forward{}, backward{}, optimizer{}, compute{};  ///< compute: all but data
};

}  // namespace holdfast::telemetry
