// Turns the loader's text into a sentence that tells an absent dependency from a damaged file. Loads nothing.
#pragma once

#include <string>

#include "holdfast/error.hpp"

namespace holdfast::host {

/// `text` is what dlerror() said when `file`, which exists, could not be loaded. The Error (80) always carries it:
/// [plugin.missing_dependency], [plugin.undefined_symbol] or [plugin.load_failed].
Error load_failure(const std::string& file, const std::string& text);

}  // namespace holdfast::host
