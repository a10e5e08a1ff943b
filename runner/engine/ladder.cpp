// The rungs.
#include "engine/ladder.hpp"

#include <algorithm>

#include "device/memory.hpp"

namespace holdfast::engine {
namespace {

bool retry(StepPlan&) {
  device::release_caches();
  return true;
}

}  // namespace

const std::vector<Rung>& rungs() {
  static const std::vector<Rung> all = {
      {"retry", "caches emptied, the same plan is tried again", &retry},
      {"save", "nothing left to try: the state is saved and the run ends with exit code 81", nullptr},
  };
  return all;
}

Ladder::Ladder(const std::vector<std::string>& names) {
  for (const auto& name : names) {
    const auto found = std::ranges::find(rungs(), name, &Rung::name);
    if (found == rungs().end()) {
      std::string known;
      for (const auto& rung : rungs()) known += (known.empty() ? "" : ", ") + std::string(rung.name);
      throw Error(ExitCode::kBadRecipe, "memory.unknown_rung", "memory.on_oom",
                  "no rung is named '" + name + "'; this release has: " + known);
    }
    rungs_.push_back(&*found);
  }
  if (rungs_.empty() || rungs_.back()->climb) rungs_.push_back(&rungs().back());
}

const Rung& Ladder::climb(StepPlan& plan) {
  while (rungs_[next_]->climb && !rungs_[next_]->climb(plan)) ++next_;
  const Rung& taken = *rungs_[next_];
  if (taken.climb) ++next_;
  return taken;
}

}  // namespace holdfast::engine
