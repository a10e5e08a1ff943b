// What is tried when memory runs out, as data: a list of rungs, each one an edit of the plan. Knows no model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/step_plan.hpp"

namespace holdfast::engine {

/// Whose name a field of the plan bears once a rung has changed it.
inline constexpr const char* kLadder = "memory.on_oom";

/// What a rung may gain from, beside the plan.
struct Room {
  std::int64_t samples = 0;    ///< of the window, or of the batch of an evaluation
  bool segments = false;       ///< the model marks segments
  std::int64_t outermost = 0;  ///< so many of them follow one another in a forward; 0: none has ended yet; -1: none
};

struct Rung {
  std::string_view name;
  std::string_view action;                ///< what it does, for the report
  bool (*climb)(StepPlan&, const Room&);  ///< false: nothing left to gain here. Null: the end of the ladder.
  bool repeats;                           ///< climbed again in the same window until nothing is left to gain
  bool evaluates;                         ///< means something where no gradient is computed
};

/// Every rung there is, mildest first, "save" last.
const std::vector<Rung>& rungs();

/// One run's ladder. Each window begins at the bottom again; what a rung changed in the plan stays.
class Ladder {
 public:
  enum class For { kTraining, kEvaluation };
  /// `names` in order of use; "save" ends every ladder whether named or not. Throws Error 78 for an unknown name.
  explicit Ladder(const std::vector<std::string>& names, For use = For::kTraining);
  void begin_window() { next_ = 0; }
  /// Climbs to the next rung that has something to offer. `climb == nullptr` in the result: exhausted.
  const Rung& climb(StepPlan& plan, const Room& room);
  /// The first rung that changes the plan, asked for before memory runs out. Null: nothing left to gain.
  const Rung* escalate(StepPlan& plan, const Room& room) const;
  /// The rung of that name. Null: this ladder has none, or it has nothing to gain.
  const Rung* take(std::string_view name, StepPlan& plan, const Room& room) const;
  [[nodiscard]] const std::vector<const Rung*>& rungs() const { return rungs_; }

 private:
  std::vector<const Rung*> rungs_;
  std::size_t next_ = 0;
};

}  // namespace holdfast::engine
