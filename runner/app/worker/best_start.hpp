// The best checkpoint so far of a run that goes on in a new generation: taken along, or forgotten with a word.
#pragma once

#include "app/worker/resumption.hpp"

namespace holdfast::app {

/// Where `start` begins a new generation from a state whose best update lies before it: reads that checkpoint from
/// beside the state's own into `start.best`. Where it is not there, is damaged or is not the one that the state means,
/// the state forgets its best value, so that the next evaluation sets it anew and nothing names a checkpoint that is
/// not there; `told` gets a sentence. Throws Error 66 when the state's progress cannot be read.
void take_best_along(Start& start, const Told& told);

/// As take_best_along() left it: drops `start.best` when the state that was taken over means another best, as after a
/// change of the metric.
void keep_best_if(Start& start, const base::StateView& taken_over);

}  // namespace holdfast::app
