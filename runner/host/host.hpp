// The plugin host: finds, loads and keeps plugins, and makes their components. Torch-free; reads neither recipes nor
// the environment. One thread, before training; what it makes may then be used as its own header says.
//
//   Host host({.stamp = {TORCH_VERSION}, .folders = {{builtin, Origin::kBuiltIn}}, .note = log_line});
//   const ComponentInfo& info = host.find(Kind::kModel, "mlp");
//   auto model = host.create(Kind::kModel, "mlp", options, context);
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "holdfast/component.hpp"
#include "holdfast/error.hpp"
#include "holdfast/options.hpp"
#include "holdfast/registrar.hpp"
#include "host/library.hpp"
#include "host/search_path.hpp"
#include "host/stamp.hpp"

namespace holdfast::host {

/// One plugin file as `holdfast plugins` shows it.
struct PluginReport {
  enum class Status { kOk, kRefused, kShadowed };
  std::string name, path;
  Origin origin = Origin::kBuiltIn;
  Status status = Status::kOk;
  std::string reason;                ///< refused: the whole error text; shadowed: by which file
  std::optional<Error> error;        ///< refused: what a run would end with
  std::optional<Stamp> stamp;        ///< where the note could be read
  const Library* library = nullptr;  ///< kOk: components, options, summary; lives as long as the host
};

class Host {
 public:
  struct Setup {
    HostStamp stamp;
    std::vector<SearchFolder> folders;  ///< absolute, in any order: they are searched by origin
    /// Sentences for the log: a shadowed file, a named folder that cannot be read. May be empty.
    std::function<void(std::string_view)> note;
  };

  /// Loads nothing. Throws Error 77 when a folder of the recipe may be changed by others.
  explicit Host(Setup setup);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// The component `name` of the first libholdfast_NAME.so on the search path, loaded now if it was not yet. The
  /// reference lives as long as the host. Throws Error 80 ([plugin.not_found], [plugin.no_component] when the file
  /// registers other things, or why the file was refused) or 77.
  const ComponentInfo& find(Kind kind, std::string_view name);

  /// A component, made by its plugin. Errors of find; Error 70 naming the plugin when its constructor throws anything
  /// but an Error or std::bad_alloc (for c10::OutOfMemoryError, find the component and call its `make` in a guard of
  /// your own). The component must be destroyed before the host; its code is never unloaded.
  std::unique_ptr<Component> create(Kind kind, std::string_view name, const Options& options, const Context& context);

  /// Plugin names by file, sorted, each once; files whose name is none are left out. Opens no file.
  [[nodiscard]] std::vector<std::string> available() const;

  /// Every plugin file of every folder, in search order; loads those that are not shadowed.
  std::vector<PluginReport> list();
  /// The plugin `name`, and no other file; Error 80 [plugin.bad_name] or [plugin.not_found] when there is none.
  PluginReport report(std::string_view name);
  /// One file, wherever it lies, as if it were found first. A refusal is reported, not thrown.
  PluginReport check(const std::string& file);

 private:
  const Library& load(std::string_view name);
  PluginReport report_first(const Candidate& candidate);
  void require_unclaimed(const Library& incoming) const;
  void note(const std::string& sentence);

  HostStamp stamp_;
  std::vector<SearchFolder> folders_;
  std::function<void(std::string_view)> note_;
  std::map<std::string, std::unique_ptr<const Library>, std::less<>> libraries_;  ///< by plugin name
  std::vector<std::unique_ptr<const Library>> checked_;
  std::set<std::string> noted_;
};

}  // namespace holdfast::host
