// What is tried when memory runs out, as data: a list of rungs, each one an edit of the plan. Knows no model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "holdfast/step_plan.hpp"

namespace holdfast::engine {

struct Rung {
  std::string_view name;
  std::string_view action;   ///< what it does, for the report
  bool (*climb)(StepPlan&);  ///< false: nothing left to gain here. Null: the end of the ladder.
};

/// Every rung there is, "save" last.
const std::vector<Rung>& rungs();

/// One run's ladder. Each window begins at the bottom again; what a rung changed in the plan stays.
class Ladder {
 public:
  /// `names` in order of use; "save" ends every ladder whether named or not. Throws Error 78 for an unknown name.
  explicit Ladder(const std::vector<std::string>& names);
  void begin_window() { next_ = 0; }
  /// Climbs to the next rung that has something to offer. `climb == nullptr` in the result: exhausted.
  const Rung& climb(StepPlan& plan);

 private:
  std::vector<const Rung*> rungs_;
  std::size_t next_ = 0;
};

}  // namespace holdfast::engine
