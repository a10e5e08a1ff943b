// exit_probe PLUGIN TORCH_VERSION return|end. C114: loads a plugin with a live thread, thread-locals and statics twenty
// times, drops its components, and returns from main or ends as the worker does. Exit code 0 is the test: nothing is
// unloaded, so nothing dies after its code.
#include <cstdio>

#include "host/plugin_folder.hpp"
#include "host/process_end.hpp"

int main(int count, char** words) {
  using namespace holdfast::testing;
  if (count != 4) return 64;
  const std::string name = words[1];
  try {
    for (int run = 0; run < 20; ++run) {
      PluginFolder folder;
      folder.add(name);
      TestHost test({{folder.path(), holdfast::host::Origin::kBuiltIn}}, words[2]);
      const auto component = test.create(name);
      if (component->extension("nothing")) return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::puts("the summary, after which nothing may crash");
  if (std::string(words[3]) == "end") holdfast::host::end_process(0);
  return 0;
}
