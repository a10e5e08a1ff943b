// The plugin host as the recipe reader sees it, and the host of one command.
#pragma once

#include <memory>

#include "app/command/command_line.hpp"
#include "base/log.hpp"
#include "host/host.hpp"
#include "spec/recipe.hpp"

namespace holdfast::app {

/// A host that searches the built-in folder, `--plugin-dir`, HOLDFAST_PLUGIN_PATH and `recipe_folders`, in this order.
std::unique_ptr<host::Host> make_host(const CommandLine& line, const std::vector<std::string>& recipe_folders,
                                      base::RunLog& log);

/// Option tables by plugin name. A plugin that cannot be loaded is a fault of the recipe's place, with the host's
/// words.
class HostCatalog : public spec::Catalog {
 public:
  explicit HostCatalog(host::Host& host) : host_(host) {}
  const OptionTable* options(Kind kind, std::string_view plugin, Refusal& refusal) override;
  std::vector<std::string> names(Kind kind) override;

 private:
  host::Host& host_;
};

}  // namespace holdfast::app
