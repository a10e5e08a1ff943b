// Names of components and plugin files: which are allowed, and how one leads to the other.
#pragma once

#include <string>
#include <string_view>

#include "base/component_kind.hpp"

namespace holdfast::host {

using base::kind_name;

/// 1 to 63 characters of [a-z0-9_]: such a name cannot leave its folder.
bool is_component_name(std::string_view name);
/// Throws Error 80 [plugin.bad_name] unless is_component_name.
void require_component_name(std::string_view name);

/// "convnet" → "libholdfast_convnet.so".
std::string plugin_file_name(std::string_view name);
/// "libholdfast_convnet.so" → "convnet"; empty for any other file.
std::string component_of_file(std::string_view file_name);

}  // namespace holdfast::host
