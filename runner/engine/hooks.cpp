// Merging: the first reason of a kind is kept.
#include "engine/hooks.hpp"

#include "base/plugin_guard.hpp"

namespace holdfast::engine {
namespace {

[[noreturn]] void refuse(const std::string& table, const std::string& asked, const std::string& why) {
  throw Error(ExitCode::kBug, "hook.request", table,
              "asked " + asked + " (" + why + "), which this release cannot do here",
              "set enabled = false in [" + table + "]");
}

enum class Place { kUpdate, kWindow, kElsewhere };

/// Whoever is against an update, whatever else is to be done, has its window dropped.
void merge_objection(const std::string& table, const Requests& asked, Requests& merged) {
  if (merged.skip_reason) return;
  const std::string says = table + " judged against it: ";
  if (asked.skip_reason)
    merged.skip_window(says + *asked.skip_reason);
  else if (asked.rollback_reason)
    merged.skip_window(says + *asked.rollback_reason);
  else if (asked.stop_code)
    merged.skip_window(says + asked.stop_reason);
}

void merge(const std::string& table, Requests asked, Requests& merged, Place place = Place::kElsewhere) {
  if (place == Place::kUpdate)
    merge_objection(table, asked, merged);
  else if (asked.skip_reason)
    refuse(table, "to skip a window", *asked.skip_reason);
  if (asked.rollback_reason && place == Place::kElsewhere) refuse(table, "to roll back", *asked.rollback_reason);
  if (asked.rollback_reason)
    merged.rollback(std::move(*asked.rollback_reason), asked.rollback_windows, std::move(asked.rollback_kind));
  if (asked.preemption_source && !merged.stop_code) merged.preemption_source = std::move(asked.preemption_source);
  if (asked.escalate_reason && !merged.escalate_reason) merged.escalate_reason = std::move(asked.escalate_reason);
  if (asked.save_reason && !merged.save_reason) merged.save_reason = std::move(asked.save_reason);
  if (asked.stop_code) merged.stop(*asked.stop_code, std::move(asked.stop_reason));
  merged.release = merged.release || asked.release;
}

}  // namespace

void Hooks::run_begin(const RunFacts& facts) {
  for (const auto& [table, hook] : hooks_) base::guard(table, "run_begin", [&] { hook->run_begin(facts); });
}

void Hooks::run_end(ExitCode code) {
  for (const auto& [table, hook] : hooks_) base::guard(table, "run_end", [&] { hook->run_end(code); });
}

void Hooks::save_end(const SaveReport& report) {
  for (const auto& [table, hook] : hooks_) base::guard(table, "save_end", [&] { hook->save_end(report); });
}

void Hooks::rolled_back(const RollbackReport& report) {
  for (const auto& [table, hook] : hooks_) base::guard(table, "rolled_back", [&] { hook->rolled_back(report); });
}

void Hooks::before_update(const UpdateProposal& proposal, Requests& merged) {
  for (const auto& [table, hook] : hooks_) {
    Requests asked;
    base::guard(table, "before_update", [&] { hook->before_update(proposal, asked); });
    merge(table, std::move(asked), merged, Place::kUpdate);
  }
}

void Hooks::window_end(const WindowReport& report, Requests& merged) {
  for (const auto& [table, hook] : hooks_) {
    Requests asked;
    base::guard(table, "window_end", [&] { hook->window_end(report, asked); });
    merge(table, std::move(asked), merged, Place::kWindow);
  }
}

void Hooks::eval_end(const EvalReport& report, Requests& merged) {
  for (const auto& [table, hook] : hooks_) {
    Requests asked;
    base::guard(table, "eval_end", [&] { hook->eval_end(report, asked); });
    merge(table, std::move(asked), merged);
  }
}

void Hooks::out_of_memory(const OomReport& report, Requests& merged) {
  for (const auto& [table, hook] : hooks_) {
    Requests asked;
    base::guard(table, "out_of_memory", [&] { hook->out_of_memory(report, asked); });
    if (asked.escalate_reason) refuse(table, "for the next rung of the memory ladder", *asked.escalate_reason);
    merge(table, std::move(asked), merged);
  }
}

FaultVerdict Hooks::corrupt_sample(const SampleFault& fault) {
  for (const auto& [table, hook] : hooks_) {
    const auto verdict = base::guard(table, "corrupt_sample", [&] { return hook->corrupt_sample(fault); });
    if (verdict != FaultVerdict::kUndecided) return verdict;
  }
  return FaultVerdict::kUndecided;
}

}  // namespace holdfast::engine
