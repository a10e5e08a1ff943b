// `holdfast plan`: how an update will be computed, who chose each part, what is exact, and the memory ladder.
#include <nlohmann/json.hpp>

#include "app/worker/assembly.hpp"
#include "app/worker/commands.hpp"
#include "app/worker/plan_text.hpp"
#include "app/worker/saving_way.hpp"
#include "device/arithmetic.hpp"
#include "device/device.hpp"
#include "engine/precision.hpp"

namespace holdfast::app {

namespace {

std::string pad(const std::string& word, std::size_t width) {
  return word + std::string(width > word.size() ? width - word.size() : 1, ' ');
}

std::string ladder_text(const std::vector<LadderRow>& rows, const Traits& traits) {
  std::string text = "\nwhen memory runs out (memory.on_oom), one after the other:\n";
  bool halves = false;
  for (const auto& row : rows) {
    halves = halves || row.rung == "halve_micro_batch";
    text +=
        "  " + pad(row.rung, 20) + row.action + (row.changes.empty() ? "" : ": " + engine::text_of(row.changes)) + "\n";
  }
  if (halves)
    for (const auto& note : split_notes(traits)) text += "  halving is not exact: " + note + "\n";
  return text;
}

nlohmann::ordered_json ladder_json(const std::vector<LadderRow>& rows) {
  auto ladder = nlohmann::ordered_json::array();
  for (const auto& row : rows) {
    auto changes = nlohmann::ordered_json::array();
    for (const auto& change : row.changes)
      changes.push_back({{"field", change.field}, {"before", change.before}, {"after", change.after}});
    ladder.push_back({{"rung", row.rung}, {"action", row.action}, {"changes", changes}});
  }
  return ladder;
}

/// Moments are made for it, which a narrow budget may refuse: then nothing is known of their size.
PlanRow checkpoint_row(const spec::Recipe& recipe, engine::Trainer& trainer) {
  std::int64_t bytes = 0;
  try {
    bytes = bytes_of(trainer.state());
  } catch (const std::bad_alloc&) {
  }
  const SavingRow row = saving_row(saving_way(recipe.checkpoint.boolean("async"), bytes, host_room()));
  return {"checkpoints", row.value, row.owner};
}

}  // namespace

int plan_command(const CommandLine& line, Frame& frame) {
  const Source source = source_of(line, line.targets.front());
  Assembly assembly(line, source, frame.log);
  assembly.build();
  assembly.require_room();
  const engine::TrainerParts parts = assembly.parts();
  engine::Trainer trainer(parts);
  auto rows = plan_rows(trainer.step_plan(), parts.settings.batch_size);
  const auto ladder = ladder_rows(parts, trainer.step_plan());
  rows.push_back(checkpoint_row(assembly.recipe(), trainer));  // last: it may move the moments
  const auto notes = inexact_notes(parts, trainer.step_plan());
  const device::MachineArithmetic machine(device::select(assembly.recipe().run.string("device")));
  const std::string slow = engine::slow_arithmetic(trainer.step_plan(), machine);
  if (line.json) {
    nlohmann::ordered_json object = {{"fields", nlohmann::ordered_json::array()}, {"inexact", notes}};
    object["slow"] = slow.empty() ? nlohmann::ordered_json::array() : nlohmann::ordered_json::array({slow});
    for (const auto& row : rows)
      object["fields"].push_back({{"field", row.field}, {"value", row.value}, {"owner", row.owner}});
    object["ladder"] = ladder_json(ladder);
    print(object.dump(2) + "\n");
    return 0;
  }
  std::string text;
  for (const auto& row : rows) text += pad(row.field, 22) + pad(row.value, 28) + row.owner + "\n";
  text += notes.empty() ? "\nexact: the same update as the plain step, up to the order of sums\n" : "\nnot exact:\n";
  for (const auto& note : notes) text += "  " + note + "\n";
  if (!slow.empty()) text += "\nslow:\n  " + slow + "\n";
  text += ladder_text(ladder, parts.model->traits());
  print(text);
  return 0;
}

}  // namespace holdfast::app
