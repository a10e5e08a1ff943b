// One list of fields for all of it.
#include "engine/plan_change.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "engine/ladder.hpp"
#include "engine/selection.hpp"

namespace holdfast::engine {
namespace {

using nlohmann::json;
using Patterns = std::vector<std::string>;

constexpr std::size_t kMostPatterns = 1000;

json to_json(std::int64_t value) { return value; }
json to_json(const Patterns& value) { return value; }
json to_json(Placement value) { return value == Placement::kHost ? "host" : "device"; }
json to_json(Precision value) {
  return value == Precision::kFull ? "fp32" : value == Precision::kBfloat16 ? "bf16" : "fp16";
}

/// Empty when `saved` is none of its kind.
std::optional<std::int64_t> parsed(const json& saved, std::int64_t, std::int64_t batch_size) {
  if (!saved.is_number_integer()) return std::nullopt;
  const auto value = saved.get<std::int64_t>();
  return value >= 1 && value <= batch_size ? std::optional(value) : std::nullopt;
}
std::optional<Patterns> parsed(const json& saved, const Patterns&, std::int64_t) {
  if (!saved.is_array() || saved.size() > kMostPatterns) return std::nullopt;
  Patterns patterns;
  for (const json& item : saved) {
    if (!item.is_string() || !chooses(item.get<std::string>())) return std::nullopt;
    patterns.push_back(item.get<std::string>());
  }
  return patterns;
}
std::optional<Placement> parsed(const json& saved, Placement, std::int64_t) {
  if (saved == "host") return Placement::kHost;
  return saved == "device" ? std::optional(Placement::kDevice) : std::nullopt;
}

std::string shown(std::int64_t value, std::int64_t batch_size) {
  return std::to_string(value > 0 ? value : batch_size);
}
std::string shown(const Patterns& value, std::int64_t) {
  return value.empty() ? "none" : base::terminal_safe_line(base::join(value, ", "));
}
template <class T>
std::string shown(T value, std::int64_t) {
  return to_json(value).template get<std::string>();
}

/// Of the fields that a rung may edit; precision is no matter of memory.
template <class Plan, class F>
void each_edited(Plan& plan, F&& visit) {
  visit("micro_batch_size", plan.micro_batch_size, &StepPlan::micro_batch_size);
  visit("recompute", plan.recompute, &StepPlan::recompute);
  visit("offload", plan.offload, &StepPlan::offload);
  visit("optimizer_placement", plan.optimizer_placement, &StepPlan::optimizer_placement);
}

}  // namespace

std::vector<PlanChange> plan_changes(const StepPlan& before, const StepPlan& after, std::int64_t batch_size) {
  std::vector<PlanChange> changes;
  const auto compare = [&](const char* name, const auto& now, auto member) {
    const auto& then = before.*member;
    if (then.value != now.value)
      changes.push_back({name, shown(then.value, batch_size), shown(now.value, batch_size), now.owner});
  };
  each_edited(after, compare);
  compare("precision", after.precision, &StepPlan::precision);
  return changes;
}

std::string text_of(const std::vector<PlanChange>& changes) {
  std::string text;
  for (const auto& change : changes)
    text += (text.empty() ? "" : ", ") + change.field + " " + change.before + " -> " + change.after;
  return text;
}

std::string plan_edits_json(const StepPlan& composed, const StepPlan& plan) {
  json edits = json::object();
  each_edited(plan, [&](const char* name, const auto& now, auto member) {
    const auto& chosen = composed.*member;
    if (now.owner == kLadder)
      edits[name] = {{"to", to_json(now.value)}, {"from", to_json(chosen.value)}, {"from_owner", chosen.owner}};
  });
  return edits.dump();
}

std::vector<std::string> apply_plan_edits(const std::string& text, StepPlan& plan, std::int64_t batch_size) {
  std::vector<std::string> told;
  const json edits = json::parse(text, nullptr, false);
  if (!edits.is_object()) return told;
  each_edited(plan, [&](const std::string& name, auto& field, auto) {
    const auto found = edits.find(name);
    if (found == edits.end() || !found->is_object()) return;
    const auto value = parsed(found->value("to", json()), field.value, batch_size);
    if (!value) return;
    const std::string saved = shown(*value, batch_size), mine = shown(field.value, batch_size);
    if (found->value("from", json()) == to_json(field.value) && found->value("from_owner", json()) == field.owner) {
      field = {*value, kLadder};
      told.push_back(name + " is " + saved + ", which " + kLadder + " had made of " + mine);
    } else {
      told.push_back(name + " is " + mine + " (the recipe wins) and not " + saved + ", which " + kLadder +
                     " had made of the saved run's");
    }
  });
  return told;
}

}  // namespace holdfast::engine
