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

using Told = std::function<void(std::string_view)>;

/// True when the home's newest generation reached its target, nothing asks for another one, and the recipe's target
/// does not lie beyond the one reached. `generation` gets what was found. Locks nothing: decided again under the lock.
bool nothing_to_do(const CommandLine& line, const spec::Recipe& recipe, const std::string& home,
                   checkpoint::Generation& generation);

/// Where SPEC is a run folder: Error 64 when it is a generation or checkpoint that the run would not go on from,
/// because a newer one is there. Naming the older one would otherwise be passed over without a word.
void require_newest(const CommandLine& line);

/// The checkpoint that `--resume PATH` names, read and verified; of a home or generation its newest good one. Empty for
/// auto and never. Error 66 when absent or bad. `told` and `accept` as below.
std::optional<checkpoint::Loaded> requested_checkpoint(const CommandLine& line, const Told& told,
                                                       const checkpoint::Store::Accept& accept);
/// Whether the command line names a checkpoint to go on from.
bool requests_checkpoint(const CommandLine& line);

struct Start {
  bool new_generation = true;
  std::optional<checkpoint::Loaded> state;  ///< empty: from the beginning
  /// The best checkpoint so far, where a new generation goes on from a later one: it goes there too.
  std::optional<checkpoint::Loaded> best;
  std::string why;  ///< one sentence for the log; empty for a plain first start
};

/// Rules: `--new` and `--resume never` begin the next generation from the beginning. `--resume PATH` continues the
/// current generation when PATH is its newest checkpoint, and otherwise begins the next generation from that state.
/// Else an unfinished generation (or a finished one whose target was raised) goes on from its newest good checkpoint.
/// Error 66 when there are only unreadable ones, or none although the generation has saved one: never a fresh start
/// unless it was asked for. `told` gets one sentence for each that was passed over; `accept` judges what was read and
/// may refuse it with Error 66 as if it were damaged.
Start choose_start(const CommandLine& line, const checkpoint::Generation& current, bool target_raised,
                   std::optional<checkpoint::Loaded> requested, const Told& told,
                   const checkpoint::Store::Accept& accept);

/// Whether the recipe asks for more updates than the finished generation was to make.
bool target_raised(const spec::Recipe& recipe, const checkpoint::Generation& finished);

}  // namespace holdfast::app
