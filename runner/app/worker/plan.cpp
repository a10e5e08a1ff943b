// `holdfast plan`: how an update will be computed, who chose each part, what is exact, and the memory ladder.
#include <nlohmann/json.hpp>

#include "app/worker/assembly.hpp"
#include "app/worker/commands.hpp"
#include "app/worker/measurement_text.hpp"
#include "app/worker/plan_text.hpp"
#include "app/worker/saving_way.hpp"
#include "app/worker/scope_text.hpp"
#include "base/text.hpp"
#include "checkpoint/home.hpp"
#include "checkpoint/store.hpp"
#include "device/arithmetic.hpp"
#include "device/device.hpp"
#include "device/domain_pool.hpp"
#include "engine/measurement.hpp"
#include "engine/precision.hpp"

namespace holdfast::app {
namespace {

using Json = nlohmann::ordered_json;

std::string pad(const std::string& word, std::size_t width) {
  return word + std::string(width > word.size() ? width - word.size() : 1, ' ');
}

/// Of a run folder: the state of its newest checkpoint, where there is one.
void take_state_of(const std::string& target, engine::Trainer& trainer, Frame& frame) {
  const std::string generation = checkpoint::RunHome::look(target).path;
  if (generation.empty()) return;
  const auto newest =
      checkpoint::Store(generation, {}).newest([&frame](const std::string& why) { frame.log.warn(why); });
  if (newest) trainer.restore(newest->state, true, newest->path + "/state.json");
}

engine::Measurement measure(engine::Trainer& trainer, const CommandLine& line, Frame& frame) {
  engine::MeasurementSettings settings;
  settings.updates = line.updates;
  settings.meter = &device::pool_of(device::Domain::kDevice);
  auto measured = trainer.measure(settings);
  const std::string slower = slower_precision(measured, trainer.step_plan().precision.owner);
  if (!slower.empty()) frame.log.warn(slower);
  return measured;
}

[[noreturn]] void tell_shortage(const engine::Shortage& shortage) {
  throw Error(ExitCode::kDeviceOutOfMemory, "memory.device", "measuring: " + shortage.place, shortage.text,
              "the figures above are those until then; raise memory.device_budget, or trade memory with a strategy");
}

std::string scopes_text(const engine::TrainerParts& parts, const StepPlan& plan) {
  const auto rows = scope_rows(parts, plan);
  if (rows.empty()) return {};
  std::string text = "\nin the phases attempt > micro_batch > forward, backward; update:\n";
  for (const auto& row : rows) text += "  " + pad(row.field, 20) + pad(row.value, 28) + row.owner + "\n";
  return text;
}

Json scopes_json(const engine::TrainerParts& parts, const StepPlan& plan) {
  Json list = Json::array();
  for (const auto& row : scope_rows(parts, plan))
    list.push_back({{"phase", row.field}, {"does", row.value}, {"owner", row.owner}});
  return list;
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

Json ladder_json(const std::vector<LadderRow>& rows) {
  auto ladder = Json::array();
  for (const auto& row : rows) {
    auto changes = Json::array();
    for (const auto& change : row.changes)
      changes.push_back({{"field", change.field}, {"before", change.before}, {"after", change.after}});
    ladder.push_back({{"rung", row.rung}, {"action", row.action}, {"changes", changes}});
  }
  return ladder;
}

/// Moments are made for it, which a narrow budget may refuse: then nothing is known of their size.
PlanRow checkpoint_row(const Assembly& assembly, engine::Trainer& trainer) {
  std::int64_t bytes = 0;
  try {
    bytes = bytes_of(assembly.first_state(trainer));
  } catch (const std::bad_alloc&) {
  }
  const SavingRow row = saving_row(saving_way(assembly.recipe().checkpoint.boolean("async"), bytes, host_room()));
  return {"checkpoints", row.value, row.owner};
}

std::string model_text(const Traits& traits) {
  const auto texts = trait_texts(traits);
  return texts.empty() ? "" : "the model " + base::join(texts, ", ") + "\n";
}

/// All that is printed, beside what the plan itself says.
struct Told {
  const engine::TrainerParts& parts;
  std::vector<PlanRow> rows;
  std::vector<LadderRow> ladder;
  std::string slow;
  std::optional<engine::Measurement> measured;
};

std::string plan_text(const Told& told, const StepPlan& plan) {
  const auto& [parts, rows, ladder, slow, measured] = told;
  const Traits traits = parts.model->traits();
  const auto notes = inexact_notes(parts, plan);
  std::string text;
  for (const auto& row : rows) text += pad(row.field, 22) + pad(row.value, 28) + row.owner + "\n";
  text += scopes_text(parts, plan);
  text += notes.empty() ? "\nexact: the same update as the plain step, up to the order of sums\n" : "\nnot exact:\n";
  for (const auto& note : notes) text += "  " + note + "\n";
  text += model_text(traits);
  if (!slow.empty()) text += "\nslow:\n  " + slow + "\n";
  text += ladder_text(ladder, traits);
  if (measured) text += "\n" + measurement_text(*measured);
  return text;
}

std::string plan_json(const Told& told, const StepPlan& plan) {
  const auto& [parts, rows, ladder, slow, measured] = told;
  const Traits traits = parts.model->traits();
  Json object = {{"fields", Json::array()}, {"inexact", inexact_notes(parts, plan)}};
  object["slow"] = slow.empty() ? Json::array() : Json::array({slow});
  for (const auto& row : rows)
    object["fields"].push_back({{"field", row.field}, {"value", row.value}, {"owner", row.owner}});
  object["scopes"] = scopes_json(parts, plan);
  object["traits"] = {{"draws_random", traits.draws_random},
                      {"batch_coupled", traits.batch_coupled},
                      {"has_segments", traits.has_segments}};
  object["ladder"] = ladder_json(ladder);
  if (measured) object["measured"] = measurement_json(*measured);
  return object.dump(2) + "\n";
}

}  // namespace

int plan_command(const CommandLine& line, Frame& frame) {
  const Source source = source_of(line, line.targets.front());
  Assembly assembly(line, source, frame.log);
  assembly.build();
  assembly.require_room();
  const engine::TrainerParts parts = assembly.parts();
  engine::Trainer trainer(parts);
  if (!source.home.empty()) take_state_of(line.targets.front(), trainer, frame);
  Told told{parts, {}, {}, {}, {}};
  if (line.measure) told.measured = measure(trainer, line, frame);  // first: moments that do not fit change the plan
  const StepPlan& plan = trainer.step_plan();
  told.rows = plan_rows(plan, parts.settings.batch_size);
  told.ladder = ladder_rows(parts, plan);
  if (!told.measured || !told.measured->shortage)
    told.rows.push_back(checkpoint_row(assembly, trainer));  // last: it may move the moments
  const device::MachineArithmetic machine(device::select(assembly.recipe().run.string("device")));
  told.slow = engine::slow_arithmetic(plan, machine);
  print(line.json ? plan_json(told, plan) : plan_text(told, plan));
  if (told.measured && told.measured->shortage) tell_shortage(*told.measured->shortage);
  return 0;
}

}  // namespace holdfast::app
