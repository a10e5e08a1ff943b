// Ready-made weight, loss and scores for usual tasks; a model holds one. Header-only, compiled in the plugin.
#pragma once

#include "holdfast/task/classification.hpp"  // IWYU pragma: export
#include "holdfast/task/language_model.hpp"  // IWYU pragma: export
