// Where a run goes on: which generation of the home, from which checkpoint. Decides; creates nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "app/command/command_line.hpp"
#include "checkpoint/home.hpp"
#include "checkpoint/store.hpp"
#include "spec/recipe.hpp"

namespace holdfast::app {

/// True when the home's newest generation reached its target, nothing asks for another one, and the recipe's target
/// does not lie beyond the one reached. `generation` gets what was found. Locks nothing: decided again under the lock.
bool nothing_to_do(const CommandLine& line, const spec::Recipe& recipe, const std::string& home,
                   checkpoint::Generation& generation);

/// Where SPEC is a run folder: Error 64 when it is a generation or checkpoint that the run would not go on from,
/// because a newer one is there. Naming the older one would otherwise be passed over without a word.
void require_newest(const CommandLine& line);

/// The checkpoint that `--resume PATH` names, read and verified; of a home or generation its newest good one. Empty for
/// auto and never. Error 66 when absent or bad. `told` as below.
std::optional<checkpoint::Loaded> requested_checkpoint(const CommandLine& line,
                                                       const std::function<void(std::string_view)>& told);

struct Start {
  bool new_generation = true;
  std::optional<checkpoint::Loaded> state;  ///< empty: from the beginning
  std::string why;                          ///< one sentence for the log; empty for a plain first start
};

/// Rules: `--new` and `--resume never` begin the next generation from the beginning. `--resume PATH` continues the
/// current generation when PATH is its newest checkpoint, and otherwise begins the next generation from that state.
/// Else an unfinished generation (or a finished one whose target was raised) goes on from its newest good checkpoint.
/// Error 66 when there are only unreadable ones. `told` gets one sentence for each that was passed over.
Start choose_start(const CommandLine& line, const checkpoint::Generation& current, bool target_raised,
                   std::optional<checkpoint::Loaded> requested, const std::function<void(std::string_view)>& told);

/// Whether the recipe asks for more updates than the finished generation was to make.
bool target_raised(const spec::Recipe& recipe, const checkpoint::Generation& finished);

}  // namespace holdfast::app
