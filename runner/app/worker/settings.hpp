// From a checked recipe to what the engine wants to know. Pure; torch-free.
#pragma once

#include "checkpoint/store.hpp"
#include "plan/settings.hpp"
#include "spec/recipe.hpp"

namespace holdfast::app {

plan::TrainSettings train_settings(const spec::Recipe&);
checkpoint::Retention retention(const spec::Recipe&);

}  // namespace holdfast::app
