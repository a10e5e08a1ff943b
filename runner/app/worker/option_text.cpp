// Types, defaults and bounds in spec's words.
#include "app/worker/option_text.hpp"

#include "spec/check.hpp"
#include "spec/describe.hpp"

namespace holdfast::app {

nlohmann::ordered_json option_json(const OptionTable& table) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& spec : table.specs()) {
    nlohmann::ordered_json option = {{"name", spec->name}, {"type", spec::type_name(*spec)}};
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
