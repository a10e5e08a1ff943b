// Whether a saved progress can be one that a run of these data wrote. Knows numbers only.
#pragma once

#include <string>

#include "data/window.hpp"
#include "engine/progress_json.hpp"

namespace holdfast::engine {

/// Every counter in its range, and all of them together: each consumed window was applied, empty or dropped; the epoch
/// follows from the windows; each sample of a consumed window was seen or skipped. Throws Error 66 (reason
/// "checkpoint.progress") at `where` naming the field, its value and what it must be. Nothing else bounds the loop that
/// starts at the saved window.
void check_progress(const SavedProgress& saved, const data::WindowPlan& plan, const std::string& where);

}  // namespace holdfast::engine
