// Names of components and plugin files.
#include "host/component_name.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "holdfast/error.hpp"

namespace holdfast::host {

namespace {
constexpr std::string_view kPrefix = "libholdfast_";
constexpr std::string_view kSuffix = ".so";
constexpr std::size_t kLongestName = 63;
}  // namespace

bool is_component_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void require_component_name(std::string_view name) {
  if (is_component_name(name)) return;
  throw Error(ExitCode::kPlugin, "plugin.bad_name", "",
              "'" + base::shortened(name) + "' is no plugin name: a name has 1 to 63 characters of a-z, 0-9 and _");
}

std::string plugin_file_name(std::string_view name) {
  return std::string(kPrefix) + std::string(name) + std::string(kSuffix);
}

std::string component_of_file(std::string_view file_name) {
  if (file_name.size() <= kPrefix.size() + kSuffix.size() || !file_name.starts_with(kPrefix) ||
      !file_name.ends_with(kSuffix))
    return {};
  file_name.remove_prefix(kPrefix.size());
  file_name.remove_suffix(kSuffix.size());
  return std::string(file_name);
}

}  // namespace holdfast::host
