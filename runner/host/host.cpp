// The plugin host.
#include "host/host.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/plugin_guard.hpp"
#include "holdfast/error.hpp"
#include "host/component_name.hpp"
#include "host/elf_note.hpp"
#include "host/plugin_file.hpp"
#include "host/trust.hpp"

namespace holdfast::host {

namespace {
std::optional<Stamp> stamp_of(const std::string& path) {
  try {
    return read_stamp(PluginFile(path), path);
  } catch (const Error&) {
    return std::nullopt;  // the report already says why the file was refused
  }
}

PluginReport report_of(const Candidate& candidate) {
  PluginReport report;
  report.name = candidate.name;
  report.path = candidate.path;
  report.origin = candidate.origin;
  return report;
}

void fill_loaded(PluginReport& report, const Library& library) {
  report.library = &library;
  report.stamp = library.stamp;
}

void fill_refused(PluginReport& report, const Error& error) {
  report.status = PluginReport::Status::kRefused;
  report.reason = error.what();
  report.error = error;
  report.stamp = stamp_of(report.path);
}
}  // namespace

Host::Host(Setup setup)
    : stamp_(std::move(setup.stamp)),
      folders_(in_search_order(std::move(setup.folders))),
      note_(std::move(setup.note)) {
  for (const SearchFolder& folder : folders_) {
    if (folder.origin == Origin::kRecipe) require_trusted_folder(folder.path, ::geteuid());
    std::error_code failed;
    const std::filesystem::directory_iterator opened(folder.path, failed);
    if (failed && folder.origin != Origin::kBuiltIn)
      note("no plugins from " + folder.path + " (" + std::string(origin_name(folder.origin)) +
           "): " + failed.message());
  }
}

Host::~Host() = default;

void Host::note(const std::string& sentence) {
  if (note_ && noted_.insert(sentence).second) note_(sentence);
}

void Host::require_unclaimed(const Library& incoming) const {
  for (const auto& [name, library] : libraries_)
    for (const ComponentInfo& component : incoming.components)
      if (library->find(component.kind, component.name))
        throw Error(ExitCode::kPlugin, "plugin.duplicate", incoming.path,
                    "the plugin registers " + std::string(kind_name(component.kind)) + " '" + component.name +
                        "', which " + library->path + " registers as well",
                    "rename one of the two, or remove the file that is not meant");
}

const Library& Host::load(std::string_view name) {
  if (const auto known = libraries_.find(name); known != libraries_.end()) return *known->second;
  require_component_name(name);
  const std::vector<Candidate> found = find_candidates(folders_, name);
  if (found.empty()) throw_not_found(folders_, name);
  for (auto other = found.begin() + 1; other != found.end(); ++other)
    note("plugin '" + std::string(name) + "' is " + found.front().path + "; " + other->path +
         " comes later in the search and is not used");
  auto library = load_library(found.front(), stamp_);
  require_unclaimed(*library);
  return *libraries_.emplace(std::string(name), std::move(library)).first->second;
}

const ComponentInfo& Host::find(Kind kind, std::string_view name) {
  const Library& library = load(name);
  if (const ComponentInfo* component = library.find(kind, name)) return *component;
  throw Error(ExitCode::kPlugin, "plugin.no_component", library.path,
              "the plugin registers no " + std::string(kind_name(kind)) + " '" + std::string(name) +
                  "'; it registers: " + library.contents(),
              "plugin = \"NAME\" opens libholdfast_NAME.so and takes the component of that name and kind from it");
}

std::unique_ptr<Component> Host::create(Kind kind, std::string_view name, const Options& options,
                                        const Context& context) {
  const ComponentInfo& info = find(kind, name);
  auto component = base::guard(name, "construction", [&] { return info.make(options, context); });
  if (!component)
    throw Error(ExitCode::kBug, "plugin.threw", "",
                "plugin '" + std::string(name) + "': construction returned nothing");
  return component;
}

std::vector<std::string> Host::available() const {
  std::set<std::string> names;
  for (const Candidate& candidate : all_candidates(folders_))
    if (is_component_name(candidate.name)) names.insert(candidate.name);
  return {names.begin(), names.end()};
}

PluginReport Host::report_first(const Candidate& candidate) {
  PluginReport report = report_of(candidate);
  try {
    fill_loaded(report, load(candidate.name));
  } catch (const Error& error) {
    fill_refused(report, error);
  }
  return report;
}

PluginReport Host::report(std::string_view name) {
  require_component_name(name);
  const std::vector<Candidate> found = find_candidates(folders_, name);
  if (found.empty()) throw_not_found(folders_, name);
  return report_first(found.front());
}

std::vector<PluginReport> Host::list() {
  std::vector<PluginReport> reports;
  std::map<std::string, std::string> first;
  for (const Candidate& candidate : all_candidates(folders_)) {
    const auto [used, is_first] = first.emplace(candidate.name, candidate.path);
    if (is_first) {
      reports.push_back(report_first(candidate));
      continue;
    }
    PluginReport& report = reports.emplace_back(report_of(candidate));
    report.status = PluginReport::Status::kShadowed;
    report.reason = "shadowed by " + used->second;
  }
  return reports;
}

PluginReport Host::check(const std::string& file) {
  const std::filesystem::path path = std::filesystem::absolute(file).lexically_normal();
  PluginReport report = report_of({component_of_file(path.filename().string()), path.string(), Origin::kCommandLine});
  try {
    checked_.push_back(load_library({report.name, report.path, report.origin}, stamp_));
    fill_loaded(report, *checked_.back());
  } catch (const Error& error) {
    fill_refused(report, error);
  }
  return report;
}

}  // namespace holdfast::host
