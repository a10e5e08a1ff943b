// `holdfast schema`: the JSON Schema of recipes or their reference, with the options of every plugin that can be
// loaded.
#include "app/worker/catalog.hpp"
#include "app/worker/commands.hpp"

namespace holdfast::app {

int schema_command(const CommandLine& line, Frame& frame) {
  const auto text = line.markdown ? spec::recipe_reference : spec::json_schema;
  if (line.no_plugins) return print(text(nullptr)), 0;
  const auto host = make_host(line, {}, frame.log);
  HostCatalog catalog(*host);
  print(text(&catalog));
  return 0;
}

}  // namespace holdfast::app
