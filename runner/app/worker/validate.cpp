// `holdfast validate`: everything that can be checked without training, all faults of a recipe together.
#include <nlohmann/json.hpp>

#include "app/worker/assembly.hpp"
#include "app/worker/commands.hpp"
#include "app/worker/data_check.hpp"
#include "base/text.hpp"

namespace holdfast::app {
namespace {

using Json = nlohmann::ordered_json;

Json fault_json(const Error& error) {
  Json list = Json::array();
  if (const auto* faults = dynamic_cast<const spec::Faults*>(&error)) {
    for (const auto& fault : faults->faults())
      list.push_back({{"file", fault.file},
                      {"line", fault.line},
                      {"column", fault.column},
                      {"reason", fault.reason},
                      {"message", fault.message},
                      {"hint", fault.hint}});
    return list;
  }
  list.push_back(
      {{"where", error.where()}, {"reason", error.reason()}, {"message", error.message()}, {"hint", error.hint()}});
  return list;
}

/// Reads all samples; Error 65 with the table when any is corrupt.
std::string check_all_data(const Assembly& assembly) {
  const int threads = static_cast<int>(assembly.recipe().loader.integer("threads"));
  std::vector<DataCheck> checks = {check_data(assembly.train_data(), assembly.model(), "dataset.train", threads)};
  if (assembly.eval_data())
    checks.push_back(check_data(*assembly.eval_data(), assembly.model(), "dataset.eval", threads));
  std::int64_t corrupt = 0;
  for (const auto& check : checks) corrupt += check.corrupt;
  const std::string table = data_table(checks);
  if (corrupt > 0)
    throw Error(ExitCode::kBadData, "data.corrupt", assembly.recipe().path,
                base::human_count(corrupt) + " samples are corrupt\n" + table,
                "repair the data; [hook.skip_corrupt] allows a share of corrupt samples in training");
  return table;
}

std::string validate_one(const CommandLine& line, Frame& frame, const std::string& target) {
  const Source source = source_of(line, target);
  if (line.no_plugins) {
    (void)spec::read_recipe(source.recipe, source.reading);
    return target + ": valid, plugin options not checked\n";
  }
  Assembly assembly(line, source, frame.log);
  assembly.build();
  assembly.require_room();
  const engine::Trainer trainer(assembly.parts());  // conflicts between strategies
  return target + ": valid\n" + (line.data ? check_all_data(assembly) : "");
}

}  // namespace

int validate_command(const CommandLine& line, Frame& frame) {
  int code = 0;
  Json report = Json::array();
  for (const auto& target : line.targets) {
    try {
      const std::string text = validate_one(line, frame, target);
      if (!line.json) print(text);
      report.push_back({{"recipe", target}, {"valid", true}, {"faults", Json::array()}});
    } catch (const Error& error) {  // the next recipe is checked all the same
      if (!line.json) frame.print_error(error);
      report.push_back({{"recipe", target},
                        {"valid", false},
                        {"exit_code", static_cast<int>(error.code())},
                        {"faults", fault_json(error)}});
      if (code == 0) code = static_cast<int>(error.code());
    }
  }
  if (line.json) print(report.dump(2) + "\n");
  return code;
}

}  // namespace holdfast::app
