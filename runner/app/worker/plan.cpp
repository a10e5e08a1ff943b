// `holdfast plan`: how an update will be computed, who chose each part, and what is exact.
#include <nlohmann/json.hpp>

#include "app/worker/assembly.hpp"
#include "app/worker/commands.hpp"
#include "app/worker/plan_text.hpp"
#include "device/arithmetic.hpp"
#include "device/device.hpp"
#include "engine/precision.hpp"

namespace holdfast::app {

int plan_command(const CommandLine& line, Frame& frame) {
  const Source source = source_of(line, line.targets.front());
  Assembly assembly(line, source, frame.log);
  assembly.build();
  assembly.require_room();
  const engine::TrainerParts parts = assembly.parts();
  const engine::Trainer trainer(parts);
  const auto rows = plan_rows(trainer.step_plan(), parts.settings.batch_size);
  const auto notes = inexact_notes(parts, trainer.step_plan());
  const device::MachineArithmetic machine(device::select(assembly.recipe().run.string("device")));
  const std::string slow = engine::slow_arithmetic(trainer.step_plan(), machine);
  if (line.json) {
    nlohmann::ordered_json object = {{"fields", nlohmann::ordered_json::array()}, {"inexact", notes}};
    object["slow"] = slow.empty() ? nlohmann::ordered_json::array() : nlohmann::ordered_json::array({slow});
    for (const auto& row : rows)
      object["fields"].push_back({{"field", row.field}, {"value", row.value}, {"owner", row.owner}});
    print(object.dump(2) + "\n");
    return 0;
  }
  std::string text;
  const auto pad = [](const std::string& word, std::size_t width) {
    return word + std::string(width > word.size() ? width - word.size() : 1, ' ');
  };
  for (const auto& row : rows) text += pad(row.field, 22) + pad(row.value, 28) + row.owner + "\n";
  text += notes.empty() ? "\nexact: the same update as the plain step, up to the order of sums\n" : "\nnot exact:\n";
  for (const auto& note : notes) text += "  " + note + "\n";
  if (!slow.empty()) text += "\nslow:\n  " + slow + "\n";
  print(text);
  return 0;
}

}  // namespace holdfast::app
