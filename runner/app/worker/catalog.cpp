// Plugins lie beside the worker: <prefix>/libexec/holdfast/holdfast-worker, <prefix>/lib/holdfast/plugins.
#include "app/worker/catalog.hpp"

#include <filesystem>

#include "app/front/location.hpp"
#include "app/front/source.hpp"
#include "base/io_error.hpp"

namespace holdfast::app {

std::unique_ptr<host::Host> make_host(const CommandLine& line, const std::vector<std::string>& recipe_folders,
                                      base::RunLog& log) {
  namespace fs = std::filesystem;
  const auto prefix = fs::path(own_path()).parent_path().parent_path().parent_path();  // x/y/program
  std::vector<host::SearchFolder> folders = {{(prefix / "lib/holdfast/plugins").string(), host::Origin::kBuiltIn}};
  for (const auto& folder : line.plugin_dirs)
    folders.push_back({base::absolute_path(folder), host::Origin::kCommandLine});
  if (const auto list = environment("HOLDFAST_PLUGIN_PATH"))
    for (auto& folder : host::split_path_list(*list, fs::current_path().string())) folders.push_back(std::move(folder));
  for (const auto& folder : recipe_folders) folders.push_back({folder, host::Origin::kRecipe});
  host::Host::Setup setup;
  setup.stamp.torch = HOLDFAST_TORCH_VERSION;
  setup.folders = std::move(folders);
  setup.note = [&log](std::string_view sentence) { log.info(sentence); };
  return std::make_unique<host::Host>(std::move(setup));
}

const OptionTable* HostCatalog::options(Kind kind, std::string_view plugin, Refusal& refusal) {
  try {
    return &host_.find(kind, plugin).options;
  } catch (const Error& error) {  // told by the reader, with the line of the recipe that asked for it
    refusal = {error.message(), error.hint()};
    if (!error.where().empty()) refusal.why = error.where() + ": " + refusal.why;
    return nullptr;
  }
}

std::vector<std::string> HostCatalog::names(Kind) { return host_.available(); }

}  // namespace holdfast::app
