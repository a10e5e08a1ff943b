// Words for types; defaults and bounds in spec's words.
#include "app/worker/option_text.hpp"

#include "base/text.hpp"
#include "spec/check.hpp"

namespace holdfast::app {
namespace {

std::string type_text(OptionType type) {
  switch (type) {
    case OptionType::kBoolean:
      return "true or false";
    case OptionType::kInteger:
      return "integer";
    case OptionType::kNumber:
      return "number";
    case OptionType::kString:
      return "text";
    case OptionType::kPath:
      return "path";
    case OptionType::kDuration:
      return "duration";
    case OptionType::kSize:
      return "size";
    case OptionType::kInterval:
      return "interval";
    case OptionType::kIntegers:
      return "list of integers";
    case OptionType::kNumbers:
      return "list of numbers";
    case OptionType::kStrings:
      return "list of texts";
    case OptionType::kPaths:
      return "list of paths";
    case OptionType::kTable:
      return "table";
  }
  return "value";
}

std::string facts_text(const OptionSpec& spec) {
  std::string text = type_text(spec.type);
  if (spec.single_allowed) text += " or one of them";
  if (!spec.choices.empty()) text = "one of " + base::join(spec.choices, ", ");
  if (const std::string bounds = spec::bounds_text(spec); !bounds.empty()) text += " " + bounds;
  if (spec.is_required) return text + ", required";
  return spec.fallback ? text + ", default " + spec::default_text(*spec.fallback) : text;
}

}  // namespace

std::string option_lines(const OptionTable& table) {
  std::string text;
  for (const auto& spec : table.specs()) {
    text += "    " + spec->name + "  (" + facts_text(*spec) + ")\n";
    if (!spec->help.empty()) text += "        " + spec->help + "\n";
  }
  return text.empty() ? "    no options\n" : text;
}

nlohmann::ordered_json option_json(const OptionTable& table) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& spec : table.specs()) {
    nlohmann::ordered_json option = {{"name", spec->name}, {"type", type_text(spec->type)}};
    option["required"] = spec->is_required;
    option["default"] = spec->fallback ? nlohmann::ordered_json(spec::default_text(*spec->fallback)) : nullptr;
    if (!spec->choices.empty()) option["choices"] = spec->choices;
    if (const std::string bounds = spec::bounds_text(*spec); !bounds.empty()) option["bounds"] = bounds;
    option["doc"] = spec->help;
    list.push_back(std::move(option));
  }
  return list;
}

}  // namespace holdfast::app
