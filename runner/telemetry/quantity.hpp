// Measured values as people read them. Pure; knows no locale, so a decimal comma never appears.
#pragma once

#include <string>

namespace holdfast::telemetry {

/// About four significant digits, no exponent where that is short: "0.1234", "12.34", "1234", "3.2e-05".
std::string number_text(double value);
/// "0.83", "12.4", "1240" of something a second.
std::string rate_text(double per_second);

}  // namespace holdfast::telemetry
