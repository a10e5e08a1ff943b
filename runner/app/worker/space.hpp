// Whether a run's first checkpoint will fit on the disk, asked before anything is created.
#pragma once

#include <string>

#include "base/state_view.hpp"

namespace holdfast::app {

/// Throws Error 74 [output.space], naming the folder, the bytes needed and those free, when the file system of `home`
/// (of its nearest existing parent, links followed) has no room for one checkpoint of `state` and the final weights.
void require_space(const std::string& home, const base::StateView& state);

}  // namespace holdfast::app
