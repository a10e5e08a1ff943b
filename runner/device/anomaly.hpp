// Autograd's search for the operation that made a NaN. Knows no model.
#pragma once

#include <string_view>

namespace holdfast::device {

/// From now on every backward pass looks at what each operation returns, and throws where that holds a NaN; each
/// operation remembers the forward that made it. Slow. Process-wide.
void set_anomaly_mode(bool on);
/// `sentence` is what such a throw says.
bool is_anomaly(std::string_view sentence);

}  // namespace holdfast::device
