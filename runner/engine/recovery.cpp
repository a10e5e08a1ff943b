// Memory that ran out, or is about to: the ladder is climbed, told, and what it changed stays for the rest of the run.
#include <ATen/ATen.h>

#include "device/memory.hpp"
#include "device/out_of_memory.hpp"
#include "engine/placement.hpp"
#include "engine/trainer_impl.hpp"

namespace holdfast::engine {

// Most of a plan is read anew by each attempt; moments lie where they lie until they are moved.
bool Trainer::Impl::obey(StepPlan& changed, const StepPlan& before) {
  if (changed.optimizer_placement.value == before.optimizer_placement.value) return true;
  try {
    place_moments(*optimizer, changed.optimizer_placement.value, parameters.front().tensor.device());
    return true;
  } catch (const std::exception& failure) {  // no memory for them there, or no way: everything is where it was
    observer.note("the optimizer's state cannot be moved: " + device::sentence_of(failure));
    changed = before;
    return false;
  }
}

Room Trainer::Impl::room(std::int64_t samples) const {
  return {samples, model.traits().has_segments, step.outermost_segments()};
}

const Rung& Trainer::Impl::climb(OomReport& report, Ladder& rungs, StepPlan& changed, std::int64_t samples) {
  const StepPlan before = changed;
  const Rung* taken = &rungs.climb(changed, room(samples));
  while (taken->climb && !obey(changed, before)) taken = &rungs.climb(changed, room(samples));
  const Rung& rung = *taken;
  auto changes = plan_changes(before, changed, samples);
  if (&changed == &eval_plan)
    for (auto& change : changes) change.field = "eval_batch_size";
  report.rung = rung.name;
  report.action = std::string(rung.action) + (changes.empty() ? "" : ": " + text_of(changes));
  observer.out_of_memory(report);
  for (const auto& change : changes) observer.plan_changed(change, report.update);
  hooks.out_of_memory(report, asked_early_);
  if (rung.climb) {
    device::release_caches();
    ++progress.oom_retries;
  }
  return rung;
}

void Trainer::Impl::recover(OomReport& report, std::int64_t samples) {
  if (climb(report, ladder, plan, samples).climb) return;
  throw Error(ExitCode::kDeviceOutOfMemory, "memory.device",
              report.phase + " of update " + std::to_string(report.update) + ", micro-batch " +
                  std::to_string(report.micro_batch),
              report.text, "use smaller micro-batches ([strategy.accumulate]) or a bigger device");
}

void Trainer::Impl::recover_evaluation(OomReport& report, std::int64_t samples) {
  if (climb(report, eval_ladder, eval_plan, samples).climb) return;
  throw Error(ExitCode::kDeviceOutOfMemory, "memory.device", "evaluation, batch " + std::to_string(report.micro_batch),
              report.text, "set a smaller train.eval_batch_size");
}

void Trainer::Impl::escalate(const std::string& why) {
  const StepPlan before = plan;
  const Rung* rung = ladder.escalate(plan, room(parts.settings.batch_size));
  if (rung && obey(plan, before)) return tell(why, *rung, before);
  observer.note(why + ": memory.on_oom has nothing left that would need less memory");
}

void Trainer::Impl::tell(const std::string& why, const Rung& rung, const StepPlan& before) {
  const auto changes = plan_changes(before, plan, parts.settings.batch_size);
  observer.note(why + ": " + std::string(rung.action) + ": " + text_of(changes));
  for (const auto& change : changes) observer.plan_changed(change, progress.update);
}

// They are made at the first save, which may come before any window. Of all rungs only this one can help there.
NamedTensors Trainer::Impl::moments() {
  OomReport report;
  try {
    return optimizer->state();
  } catch (const std::exception& failure) {
    if (!device::is_device_out_of_memory(failure, report.text)) throw;
  }
  const StepPlan before = plan;
  const Rung* rung = ladder.take("offload_optimizer", plan, room(parts.settings.batch_size));
  if (rung && obey(plan, before)) tell(report.text, *rung, before);
  return optimizer->state();
}

Error Trainer::Impl::out_of_memory_outside(const std::string& text) {
  const std::string place = "after update " + std::to_string(progress.update);
  OomReport report{progress.update, "edge", 0, text, "the run ends with exit code 81", "save"};
  try {
    observer.out_of_memory(report);
    hooks.out_of_memory(report, asked_early_);
  } catch (const std::exception& failure) {
    observer.note("while memory had run out: " + device::sentence_of(failure));
  }
  return {ExitCode::kDeviceOutOfMemory, "memory.device", place, text, "use a bigger device"};
}

void Trainer::Impl::restore_plan(const SavedExtra& saved) {
  const auto placed = plan.optimizer_placement;
  plan = composed;
  for (const auto& line : apply_plan_edits(saved.plan_edits, plan, parts.settings.batch_size))
    observer.note("resume: " + line);
  if (placed.owner == kLadder)
    plan.optimizer_placement = placed;  // there was no room for them before, nor is there now
  if (plan.optimizer_placement.value != placed.value)
    place_moments(*optimizer, plan.optimizer_placement.value, parameters.front().tensor.device());
  step.recall(saved.segments);
  const std::int64_t eval_batch = saved.eval_batch;
  if (eval_batch > 0 && eval_batch < parts.settings.eval_batch_size) eval_plan.micro_batch_size = {eval_batch, kLadder};
}

}  // namespace holdfast::engine
