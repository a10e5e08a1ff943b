// C114: loads a plugin with a live thread, thread-locals and statics twenty times, drops its components, and returns
// from main. Exit code 0 is the test: nothing is unloaded, so nothing dies after its code.
#include <cstdio>

#include "host/plugin_folder.hpp"

int main() {
  using namespace holdfast::testing;
  try {
    for (int run = 0; run < 20; ++run) {
      PluginFolder folder;
      folder.add("lively");
      TestHost test(folder);
      const auto component = test.create("lively");
      if (component->extension("nothing")) return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::puts("the summary, after which nothing may crash");
  return 0;
}
