// `holdfast schema`: the JSON Schema of recipes, with the options of every plugin that can be loaded.
#include "app/worker/catalog.hpp"
#include "app/worker/commands.hpp"

namespace holdfast::app {

int schema_command(const CommandLine& line, Frame& frame) {
  if (line.no_plugins) return print(spec::json_schema(nullptr)), 0;
  const auto host = make_host(line, {}, frame.log);
  HostCatalog catalog(*host);
  print(spec::json_schema(&catalog));
  return 0;
}

}  // namespace holdfast::app
