// Loading. The only file that includes Boost.DLL.
#include "host/library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <vector>  // before Boost.DLL, which forgets it when it uses std::filesystem

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>

#include "base/plugin_guard.hpp"
#include "base/text.hpp"
#include "holdfast/abi.hpp"
#include "holdfast/error.hpp"
#include "host/component_name.hpp"
#include "host/elf_note.hpp"
#include "host/load_failure.hpp"
#include "host/plugin_file.hpp"
#include "host/staging.hpp"
#include "host/trust.hpp"

namespace holdfast::host {

namespace {
constexpr const char* kQuery = "holdfast_plugin_query_v1";
constexpr std::size_t kErrorSize = 2048;

/// Keeps every library for the life of the process, reachable so that a leak checker does not count it.
boost::dll::shared_library& keep_forever(boost::dll::shared_library library) {
  static auto& kept = *new std::vector<std::unique_ptr<boost::dll::shared_library>>;
  kept.push_back(std::make_unique<boost::dll::shared_library>(std::move(library)));
  return *kept.back();
}

/// What a crash or an exception before any component exists is told by: a stranger's file needs its path.
std::string call_text(const char* call, const std::string& path) { return std::string(call) + " (" + path + ")"; }

boost::dll::shared_library& map_library(const std::string& path, const Stamp& stamp) {
  const std::string loading = call_text("loading", path);
  const base::PluginCallScope scope(stamp.id, loading);  // static initialisers run: a crash there has a name
  ::dlerror();                                           // an older failure must not be told as this one's
  std::error_code failed;
  boost::dll::shared_library library;
  library.load(path, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local, failed);
  if (failed || !library.is_loaded()) {
    const char* text = ::dlerror();
    throw load_failure(path, text ? text : failed.message());
  }
  return keep_forever(std::move(library));
}

/// The plugin's description, checked again: the note was only what the file claims of itself.
const holdfast_plugin_v1& query(boost::dll::shared_library& library, const std::string& path, const Stamp& stamp,
                                const HostStamp& host) {
  if (!library.has(kQuery))
    throw Error(ExitCode::kPlugin, "plugin.no_entry", path, std::string("the plugin does not export ") + kQuery + "()",
                "use HOLDFAST_PLUGIN, and do not hide it");
  const auto entry = library.get<const holdfast_plugin_v1*()>(kQuery);
  const holdfast_plugin_v1* plugin = base::guard(stamp.id, call_text(kQuery, path), entry);
  if (!plugin)
    throw Error(ExitCode::kPlugin, "plugin.no_description", path, std::string(kQuery) + "() returned nothing");
  if (plugin->struct_size < sizeof(holdfast_plugin_v1))
    throw Error(ExitCode::kPlugin, "plugin.abi_mismatch", path,
                "its description has " + std::to_string(plugin->struct_size) + " bytes, but this holdfast needs " +
                    std::to_string(sizeof(holdfast_plugin_v1)),
                "rebuild the plugin with the SDK of this holdfast");
  if (plugin->abi != host.abi)
    throw Error(ExitCode::kPlugin, "plugin.abi_mismatch", path,
                "its code says plugin ABI " + std::to_string(plugin->abi) + " and its note " +
                    std::to_string(stamp.abi) + "; this holdfast has plugin ABI " + std::to_string(host.abi),
                "rebuild the plugin with the SDK of this holdfast");
  if (!plugin->id || stamp.id != plugin->id || !plugin->register_components)
    throw Error(ExitCode::kPlugin, "plugin.damaged_note", path,
                "its code describes plugin '" + base::shortened(plugin->id ? plugin->id : "", 64) +
                    "', its note plugin '" + stamp.id + "'",
                "a library holds one plugin: do not link it with another one");
  return *plugin;
}

std::vector<ComponentInfo> registered_by(const holdfast_plugin_v1& plugin, const std::string& path) {
  Staging staging(path);
  std::array<char, kErrorSize> text{};
  Registrar& registrar = staging;
  const int failed = base::guard(plugin.id, call_text("registration", path), [&] {
    return plugin.register_components(static_cast<void*>(&registrar), text.data(), text.size());
  });
  if (failed == 0) return staging.take();
  text.back() = '\0';
  staging.rethrow_fault();
  throw Error(
      ExitCode::kPlugin, "plugin.registration_failed", path,
      "the plugin failed to register: " + (text.front() != '\0' ? std::string(text.data()) : "it gave no reason"));
}

/// A recipe's file is opened by its canonical path: no link on the way may belong to somebody else.
std::string path_to_open(const Candidate& candidate) {
  if (candidate.origin != Origin::kRecipe) return candidate.path;
  std::error_code dangling;  // opening it says so
  const std::filesystem::path real = std::filesystem::canonical(candidate.path, dangling);
  return dangling ? candidate.path : real.string();
}
}  // namespace

std::string Library::contents() const {
  std::string text;
  for (const ComponentInfo& component : components)
    text += (text.empty() ? "" : ", ") + std::string(kind_name(component.kind)) + " '" + component.name + "'";
  return text;
}

std::unique_ptr<const Library> load_library(const Candidate& candidate, const HostStamp& host) {
  const std::string path = path_to_open(candidate);
  const PluginFile file(path);
  if (candidate.origin == Origin::kRecipe) require_trusted_file(file, ::geteuid());
  auto library = std::make_unique<Library>();
  library->path = path;
  library->origin = candidate.origin;
  library->stamp = read_stamp(file, path);
  require_match(path, library->stamp, host);
  file.require_same();
  const holdfast_plugin_v1& plugin = query(map_library(path, library->stamp), path, library->stamp, host);
  library->summary = plugin.summary ? plugin.summary : "";
  library->components = registered_by(plugin, path);
  return library;
}

}  // namespace holdfast::host
