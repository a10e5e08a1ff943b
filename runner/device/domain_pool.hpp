// The two pools of the process, made at the first call and never destroyed: memory may be freed until the very end.
#pragma once

#include "device/pool.hpp"

namespace holdfast::device {

/// From any thread. A child of fork(2) finds both in order.
Pool& pool_of(Domain domain);

}  // namespace holdfast::device
