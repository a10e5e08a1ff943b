// The rungs. Caches are emptied by whoever climbs: that is part of every new attempt.
#include "engine/ladder.hpp"

#include <algorithm>
#include <utility>

#include "engine/selection.hpp"

namespace holdfast::engine {
namespace {

template <class T>
bool set(PlanField<T>& field, T value) {
  if (field.value == value) return false;
  field = {std::move(value), kLadder};
  return true;
}

bool retry(StepPlan&, const Room&) { return true; }

// Halved by what the window really holds: a ragged one may have fewer samples than the plan's micro-batch.
bool halve_micro_batch(StepPlan& plan, const Room& room) {
  const std::int64_t now =
      plan.micro_batch_size.value > 0 ? std::min(plan.micro_batch_size.value, room.samples) : room.samples;
  return now > 1 && set(plan.micro_batch_size, (now + 1) / 2);
}

// A quarter of the segments more each time, the largest first; what the recipe chose stays chosen. No forward that
// ended means that one with all of them recomputed ran out too, for sizes are measured in such a one: nothing to gain
// then.
bool recompute(StepPlan& plan, const Room& room) {
  auto chosen = plan.recompute.value;
  if (!room.segments || room.outermost < 0 || everything(chosen)) return false;
  std::int64_t largest = 0;
  std::erase_if(chosen, [&](const std::string& entry) {
    const std::int64_t count = policy_count(entry, "largest");
    largest = std::max(largest, count);
    return count > 0;
  });
  if (room.outermost == 0 && largest > 0) return false;
  largest += (room.outermost + 3) / 4 + (room.outermost == 0);
  chosen.push_back(room.outermost > 0 && largest >= room.outermost ? "*" : "largest:" + std::to_string(largest));
  return set(plan.recompute, std::move(chosen));
}

bool offload_activations(StepPlan& plan, const Room&) {
  return !everything(plan.offload.value) && set(plan.offload, {"*"});
}
bool offload_optimizer(StepPlan& plan, const Room&) { return set(plan.optimizer_placement, Placement::kHost); }

}  // namespace

const std::vector<Rung>& rungs() {
  static const std::vector<Rung> all = {
      {"retry", "caches emptied, the same plan is tried again", &retry, false, true},
      {"halve_micro_batch", "the micro-batch is halved", &halve_micro_batch, true, true},
      {"recompute", "activations of more segments are recomputed in backward, of the largest first", &recompute, true,
       false},
      {"offload_activations", "activations go to the host", &offload_activations, false, false},
      {"offload_optimizer", "the optimizer's state goes to the host", &offload_optimizer, false, false},
      {"save", "nothing left to try: the run ends with exit code 81", nullptr, false, true},
  };
  return all;
}

Ladder::Ladder(const std::vector<std::string>& names, For use) {
  for (const auto& name : names) {
    const auto found = std::ranges::find(engine::rungs(), name, &Rung::name);
    if (found == engine::rungs().end()) {
      std::string known;
      for (const auto& rung : engine::rungs()) known += (known.empty() ? "" : ", ") + std::string(rung.name);
      throw Error(ExitCode::kBadRecipe, "memory.unknown_rung", kLadder,
                  "no rung is named '" + name + "'; this release has: " + known);
    }
    if (use == For::kTraining || found->evaluates) rungs_.push_back(&*found);
  }
  if (rungs_.empty() || rungs_.back()->climb) rungs_.push_back(&engine::rungs().back());
}

const Rung& Ladder::climb(StepPlan& plan, const Room& room) {
  while (rungs_[next_]->climb && !rungs_[next_]->climb(plan, room)) ++next_;
  const Rung& taken = *rungs_[next_];
  if (taken.climb && !taken.repeats) ++next_;
  return taken;
}

const Rung* Ladder::escalate(StepPlan& plan, const Room& room) const {
  for (const Rung* rung : rungs_)
    if (rung->climb && rung->climb != &retry && rung->climb(plan, room)) return rung;
  return nullptr;
}

const Rung* Ladder::take(std::string_view name, StepPlan& plan, const Room& room) const {
  const auto found = std::ranges::find(rungs_, name, &Rung::name);
  return found != rungs_.end() && (*found)->climb && (*found)->climb(plan, room) ? *found : nullptr;
}

}  // namespace holdfast::engine
