// Checks of what a plugin registers.
#include "host/staging.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "host/component_name.hpp"

namespace holdfast::host {

void Staging::check(const ComponentInfo& info) const {
  const std::string what = std::string(kind_name(info.kind)) + " '" + base::shortened(info.name) + "'";
  if (!is_component_name(info.name))
    throw Error(ExitCode::kPlugin, "plugin.bad_name", file_,
                "the plugin registers " + what + ": a name has 1 to 63 characters of a-z, 0-9 and _");
  if (!info.make)
    throw Error(ExitCode::kPlugin, "plugin.no_constructor", file_,
                "the plugin registers " + what + " without a way to make it", "use registrar.add<Type>(name, summary)");
  const bool known = std::any_of(components_.begin(), components_.end(), [&](const ComponentInfo& other) {
    return other.kind == info.kind && other.name == info.name;
  });
  if (known) throw Error(ExitCode::kPlugin, "plugin.duplicate", file_, "the plugin registers " + what + " twice");
}

void Staging::add_component(ComponentInfo info) {
  try {
    check(info);
  } catch (const Error& fault) {
    if (!fault_) fault_ = fault;
    throw;
  }
  components_.push_back(std::move(info));
}

void Staging::rethrow_fault() const {
  if (fault_) throw Error(*fault_);
}

std::vector<ComponentInfo> Staging::take() {
  rethrow_fault();
  if (components_.empty())
    throw Error(ExitCode::kPlugin, "plugin.registers_nothing", file_, "the plugin registers no component",
                "call registrar.add<Type>(name, summary) in the body of HOLDFAST_PLUGIN");
  return std::move(components_);
}

}  // namespace holdfast::host
